// The page speaks the reader's language where it is ours; the interface below it is Swagger UI.
const language = (navigator.language || "en").startsWith("es") ? "es" : "en";
document.documentElement.lang = language;
for (const element of document.querySelectorAll("[data-es]")) element.textContent = element.dataset[language];

window.ui = SwaggerUIBundle({
  url: "/v1/openapi.json",
  dom_id: "#interface",
  deepLinking: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  tryItOutEnabled: true,
});
