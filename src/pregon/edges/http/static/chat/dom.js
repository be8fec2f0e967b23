// Small things for building the page. Whatever people wrote goes in as text, never as markup.

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** A new element: `text` is its text, `dataset` its data, the rest its properties; then its children. */
export function make(tag, { text, dataset, attributes, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) element.textContent = text;
  Object.assign(element.dataset, dataset);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The colour of a nick: the same on every screen, whatever its case. */
export function hueOf(name) {
  let hash = 2_166_136_261;
  for (const one of name.normalize("NFKC").toLowerCase()) hash = Math.imul(hash ^ one.codePointAt(0), 16_777_619);
  // Golden angles keep the colours of few people apart.
  return Math.round(((hash >>> 0) % 360) * 137.508) % 360;
}

/** Give an element the colour of a nick. */
export function tint(element, name) {
  element.style.setProperty("--hue", String(hueOf(name)));
  return element;
}

/** A round mark with the first letter of a name. */
export function avatar(name) {
  const letter = [...name.trim()][0] ?? "?";
  return tint(make("span", { className: "avatar", text: letter.toLocaleUpperCase(), ariaHidden: "true" }), name);
}

/** The beginning of a text. */
export function beginning(text, most = 90) {
  const letters = [...text.replace(/\s+/g, " ").trim()];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

const ADDRESS = /https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]]/g;

/** A text as nodes: its web addresses become links, and all the rest stays text. */
export function linked(text) {
  const nodes = [];
  let from = 0;
  for (const found of text.matchAll(ADDRESS)) {
    nodes.push(text.slice(from, found.index));
    nodes.push(make("a", { href: found[0], text: found[0], target: "_blank", rel: "noopener noreferrer" }));
    from = found.index + found[0].length;
  }
  return [...nodes, text.slice(from)];
}

/** The room that the address of the page names, empty if it names none. */
export function linkedRoom() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ""; // Not every text after # is an address.
  }
}
