// What the page says, in Spanish and English.

const WORDS = {
  es: {
    tagline: "Conversaciones en las que nadie lee una respuesta antes que su pregunta.",
    your_name: "Su nombre",
    name_hint: "Entre 1 y 32 letras, números, espacios o _ . -",
    enter: "Entrar",
    key: "Clave de acceso",
    key_hint: "Esta central pide una clave. Quien la administra puede darle una.",
    rooms: "Salas",
    private: "Privados",
    new_room: "Otra sala",
    no_rooms: "Todavía no está en ninguna sala.",
    lobby: "¿Adónde vamos?",
    lobby_hint: "Elija una sala, o escriba el nombre de una nueva.",
    room_name: "Nombre de la sala",
    create: "Crear",
    join: "Entrar",
    go: "Ir",
    people: { one: "{n} persona", other: "{n} personas" },
    people_here: { one: "{n} persona aquí", other: "{n} personas aquí" },
    nothing_found: "No hay salas todavía. Cree la primera.",
    members: "Personas",
    here: "está aquí",
    away: "no está",
    you: "usted",
    leave: "Salir de la sala",
    hide: "Ocultar la conversación",
    diagram: "Ver el diagrama espacio-tiempo",
    threads: "Agrupar respuestas",
    write: "Escriba a {room}",
    send: "Enviar",
    answer: "Responder",
    answering: "Responde a {name}",
    cancel: "Cancelar",
    concurrent: "Concurrentes",
    concurrent_with: {
      zero: "Ningún mensaje es concurrente con el de {name}.",
      one: "{n} mensaje es concurrente con el de {name}: ninguno de los dos había visto el otro.",
      other: "{n} mensajes son concurrentes con el de {name}: sus autores no habían visto el otro.",
    },
    concurrent_mark: "concurrente",
    done: "Listo",
    private_with: "Escribir en privado a {name}",
    private_room: "Conversación privada",
    joined: "{name} entró",
    left: "{name} salió",
    gone: "{name} ya no está",
    renamed: "{old} ahora es {name}",
    new_messages: "Nuevos",
    to_bottom: { one: "{n} mensaje nuevo", other: "{n} mensajes nuevos", zero: "Ir al final" },
    loading: "Buscando mensajes anteriores…",
    beginning: "Aquí empieza la conversación.",
    waiting: "se enviará al volver la conexión",
    sending: "enviando…",
    not_sent: "No se envió: {why}",
    retry: "Reintentar",
    discard: "Descartar",
    connecting: "Conectando…",
    lost: "Sin conexión. Lo que escriba se guarda y se enviará al volver.",
    unread: { one: "{n} sin leer", other: "{n} sin leer" },
    settings: "Ajustes",
    change_name: "Cambiar de nombre",
    change: "Cambiar",
    language: "Idioma",
    theme: "Aspecto",
    theme_auto: "Como el sistema",
    theme_light: "Claro",
    theme_dark: "Oscuro",
    close: "Cerrar",
    give_up: "Dejar de usar este nombre",
    give_up_sure: "Saldrá de todas las salas y el nombre quedará libre. ¿Seguro?",
    give_up_yes: "Sí, dejarlo",
    name_changed: "Ahora su nombre es {name}.",
    binary: "datos, {n} bytes",
    older_answer: "un mensaje anterior",
    e_name_taken: "«{name}» ya es de otra persona. Elija otro nombre.",
    e_name_bad: "«{name}» no sirve como nombre: use entre 1 y 32 letras, números, espacios o _ . -, y que no sea uno de la central.",
    e_name_none: "Escriba un nombre.",
    e_room_bad: "«{name}» no sirve como nombre de sala: use letras sin tilde, números y . _ -, y empiece con letra o número.",
    e_room_none: "Escriba el nombre de una sala.",
    e_room_missing: "No hay ninguna sala «{name}».",
    e_room_not_made: "No hay ninguna sala «{name}», y aquí solo las crea quien administra la central.",
    e_room_forbidden: "A «{name}» se entra por invitación.",
    e_too_long: "El mensaje tiene {n} caracteres, y el máximo es {max}. Acórtelo o divídalo.",
    e_outbox_full: "Hay demasiados mensajes esperando. Espere a que vuelva la conexión.",
    e_no_hub: "No se llega a la central. Se sigue intentando…",
    e_no_line: "Ahora no hay conexión. Pruebe cuando vuelva.",
    e_unknown_person: "La central ya no conoce su nombre en este navegador. Elija uno.",
    e_room_closed: "Ya no está en «{name}».",
    e_nobody: "Aquí no hay nadie que se llame «{name}».",
    e_not_a_member: "ya no está en esta sala",
    e_too_large: "es demasiado largo",
    e_limit: "Se llegó a un límite de la central: {message}",
    e_behind: "se escribió demasiado tiempo atrás; reintente para enviarlo ahora",
    e_other: "La central no lo aceptó: {message}",
  },
  en: {
    tagline: "Conversations in which nobody reads an answer before its question.",
    your_name: "Your name",
    name_hint: "1 to 32 letters, digits, spaces or _ . -",
    enter: "Come in",
    key: "Access key",
    key_hint: "This hub asks for a key. Whoever runs it can give you one.",
    rooms: "Rooms",
    private: "Private",
    new_room: "Another room",
    no_rooms: "You are in no room yet.",
    lobby: "Where to?",
    lobby_hint: "Choose a room, or write the name of a new one.",
    room_name: "Name of the room",
    create: "Create",
    join: "Join",
    go: "Go",
    people: { one: "{n} person", other: "{n} people" },
    people_here: { one: "{n} person here", other: "{n} people here" },
    nothing_found: "There are no rooms yet. Make the first one.",
    members: "People",
    here: "is here",
    away: "is away",
    you: "you",
    leave: "Leave the room",
    hide: "Hide the conversation",
    diagram: "See the space-time diagram",
    threads: "Group answers",
    write: "Write to {room}",
    send: "Send",
    answer: "Answer",
    answering: "Answering {name}",
    cancel: "Cancel",
    concurrent: "Concurrent",
    concurrent_with: {
      zero: "No message is concurrent with the one of {name}.",
      one: "{n} message is concurrent with the one of {name}: neither had seen the other.",
      other: "{n} messages are concurrent with the one of {name}: their authors had not seen each other's.",
    },
    concurrent_mark: "concurrent",
    done: "Done",
    private_with: "Write to {name} in private",
    private_room: "Private conversation",
    joined: "{name} came in",
    left: "{name} left",
    gone: "{name} is gone",
    renamed: "{old} is now {name}",
    new_messages: "New",
    to_bottom: { one: "{n} new message", other: "{n} new messages", zero: "To the end" },
    loading: "Looking for older messages…",
    beginning: "This is where the conversation begins.",
    waiting: "will be sent when the connection is back",
    sending: "sending…",
    not_sent: "Not sent: {why}",
    retry: "Try again",
    discard: "Discard",
    connecting: "Connecting…",
    lost: "No connection. What you write is kept, and sent when it is back.",
    unread: { one: "{n} unread", other: "{n} unread" },
    settings: "Settings",
    change_name: "Change your name",
    change: "Change",
    language: "Language",
    theme: "Appearance",
    theme_auto: "As the system",
    theme_light: "Light",
    theme_dark: "Dark",
    close: "Close",
    give_up: "Give up this name",
    give_up_sure: "You will leave every room, and the name will be free. Are you sure?",
    give_up_yes: "Yes, give it up",
    name_changed: "Your name is {name} now.",
    binary: "data, {n} bytes",
    older_answer: "an older message",
    e_name_taken: "“{name}” is somebody else's already. Choose another name.",
    e_name_bad: "“{name}” is no name to take part with: use 1 to 32 letters, digits, spaces or _ . -, and none of the hub's own.",
    e_name_none: "Write a name.",
    e_room_bad: "“{name}” is no name of a room: use letters without accents, digits and . _ -, beginning with a letter or a digit.",
    e_room_none: "Write the name of a room.",
    e_room_missing: "There is no room “{name}”.",
    e_room_not_made: "There is no room “{name}”, and here only who runs the hub makes rooms.",
    e_room_forbidden: "“{name}” is by invitation.",
    e_too_long: "The message has {n} characters, and {max} is the most. Shorten or split it.",
    e_outbox_full: "Too many messages are waiting. Wait until the connection is back.",
    e_no_hub: "The hub cannot be reached. Still trying…",
    e_no_line: "There is no connection now. Try again when it is back.",
    e_unknown_person: "The hub no longer knows your name in this browser. Choose one.",
    e_room_closed: "You are no longer in “{name}”.",
    e_nobody: "Nobody here is called “{name}”.",
    e_not_a_member: "you are no longer in this room",
    e_too_large: "it is too long",
    e_limit: "A limit of the hub is reached: {message}",
    e_behind: "it was written too long ago; try again to send it now",
    e_other: "The hub did not take it: {message}",
  },
};

let language = "en";

export const LANGUAGES = { es: "Español", en: "English" };

/** The language of the browser, if it is one of ours. */
export function browserLanguage() {
  const wanted = navigator.languages ?? [navigator.language];
  return wanted.map((one) => one.slice(0, 2).toLowerCase()).find((one) => one in WORDS) ?? "en";
}

export function setLanguage(wanted) {
  language = wanted in WORDS ? wanted : "en";
  document.documentElement.lang = language;
}

export const currentLanguage = () => language;

/** A text, with what stands for {its} places; with `n`, in the right number. */
export function say(key, values = {}) {
  let text = WORDS[language][key];
  if (typeof text === "object") {
    const form = values.n === 0 && text.zero ? "zero" : new Intl.PluralRules(language).select(values.n);
    text = text[form] ?? text.other;
  }
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Translate all that is marked below an element: data-t its text, data-t-label its label, data-t-placeholder. */
export function translate(root) {
  for (const one of root.querySelectorAll("[data-t]")) one.textContent = say(one.dataset.t);
  for (const one of root.querySelectorAll("[data-t-label]")) {
    one.setAttribute("aria-label", say(one.dataset.tLabel));
    one.title = say(one.dataset.tLabel);
  }
  for (const one of root.querySelectorAll("[data-t-placeholder]")) one.placeholder = say(one.dataset.tPlaceholder);
}

/** The time of a message: only the hour for today's. */
export function timeOf(at) {
  const date = new Date(at);
  // The browser may know better how its country writes times, if it speaks the same language.
  const locale = navigator.languages?.find((one) => one.startsWith(language)) ?? language;
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return clock.format(date);
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(date);
}

/** All the words of a language. */
export const wordsOf = (one) => WORDS[one];
