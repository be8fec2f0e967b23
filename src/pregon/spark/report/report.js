// The style switches the languages; this only says it to the browser, so that readers aloud and the tab follow.
"use strict";
for (const choice of document.querySelectorAll(".languages input")) {
  const follow = () => {
    if (!choice.checked) return;
    const page = document.documentElement;
    page.lang = choice.value;
    document.title = page.dataset[choice.value];
  };
  choice.addEventListener("change", follow);
  follow();
}
