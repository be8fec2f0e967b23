// What a browser remembers between visits: who one is, the language, the appearance. Without storage, until it is closed.

import { randomHex } from "./random.js";

const PREFIX = "pregon-chat-";
const spare = new Map();

export function recall(name) {
  try {
    return localStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return spare.get(name) ?? "";
  }
}

export function remember(name, value) {
  spare.set(name, value);
  try {
    if (value) localStorage.setItem(PREFIX + name, value);
    else localStorage.removeItem(PREFIX + name);
  } catch {
    // It is in the spare one.
  }
}

/** Where lines that wait are kept: they are of this tab, and outlive its reload. */
export function tabStorage() {
  try {
    sessionStorage.getItem(PREFIX);
    return sessionStorage;
  } catch {
    return { getItem: (name) => spare.get(name) ?? null, setItem: (name, value) => spare.set(name, value) };
  }
}

/** With the same secret a name is given again to who has it, should the answer be lost on its way. */
export function secretFor(name) {
  const [asked, known] = recall("asked").split("\n");
  if (asked === name) return known;
  const secret = randomHex(32);
  remember("asked", `${name}\n${secret}`);
  return secret;
}
