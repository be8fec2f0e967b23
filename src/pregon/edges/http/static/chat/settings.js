// The language, the appearance, and one's own name.

import { byId, make } from "./dom.js";
import { recall, remember } from "./memory.js";
import { LANGUAGES, browserLanguage, currentLanguage, setLanguage, translate } from "./words.js";

/** As it was chosen before, or as the browser is. Before anything is shown. */
export function applySettings() {
  setLanguage(recall("language") || browserLanguage());
  applyTheme(recall("theme") || "auto");
  translate(document);
}

function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export class Settings {
  #dialog = byId("settings");

  constructor({ rename, giveUp, onLanguage }) {
    this.onLanguage = onLanguage;
    byId("to-settings").onclick = () => this.#open();
    byId("settings-close").onclick = () => this.close();
    byId("rename-form").onsubmit = (event) => {
      event.preventDefault();
      this.renamed("");
      rename(byId("new-name").value.trim());
    };
    byId("give-up").onclick = () => byId("give-up-sure").removeAttribute("hidden");
    byId("give-up-yes").onclick = () => giveUp();
    // A click beside the dialog is on the dialog itself, and one inside is on its contents.
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.close());
    this.#fillLanguages();
    const theme = byId("theme");
    theme.value = recall("theme") || "auto";
    theme.onchange = () => {
      remember("theme", theme.value);
      applyTheme(theme.value);
    };
  }

  set name(name) {
    byId("new-name").value = name;
  }

  /** Say why a name was refused. */
  refuse(why) {
    byId("rename-error").textContent = why;
    byId("rename-done").textContent = "";
  }

  /** Say that it is done. */
  renamed(done) {
    byId("rename-error").textContent = "";
    byId("rename-done").textContent = done;
  }

  close() {
    this.#dialog.close();
  }

  #open() {
    byId("give-up-sure").hidden = true;
    this.renamed("");
    this.#dialog.showModal();
  }

  #fillLanguages() {
    const select = byId("language");
    for (const [code, name] of Object.entries(LANGUAGES)) {
      select.append(make("option", { value: code, text: name }));
      const button = make("button", { type: "button", className: "quiet", text: name, lang: code });
      button.onclick = () => this.#speak(code);
      byId("entry-languages").append(button);
    }
    select.value = currentLanguage();
    select.onchange = () => this.#speak(select.value);
  }

  #speak(code) {
    remember("language", code);
    setLanguage(code);
    byId("language").value = code;
    translate(document);
    this.onLanguage();
  }
}
