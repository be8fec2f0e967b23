// Where lines are written: what is refused is said, and what was written stays.

import { beginning, byId, tint } from "./dom.js";
import { textOf } from "./rows.js";
import { say } from "./words.js";

export const TEXT_CHARACTERS_MAX = 10_000;
const HEIGHT_PX_MAX = 180;

export class Writing {
  #text = byId("text");
  #answered = null;

  constructor({ send, toLog, onResize }) {
    this.send = send;
    this.onResize = onResize;
    byId("writing").onsubmit = (event) => {
      event.preventDefault();
      this.#submit();
    };
    byId("answering-end").onclick = () => this.answer(null);
    this.#text.oninput = () => this.#fit();
    this.#text.onkeydown = (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#submit();
      } else if (event.key === "Escape" && this.#answered) {
        event.preventDefault();
        this.answer(null);
      } else if (event.key === "ArrowUp" && !this.#text.value) {
        event.preventDefault();
        toLog();
      }
    };
  }

  /** Write to a room, from where it was left. */
  begin(room) {
    this.#text.value = room.draft;
    this.answer(null);
    this.#refuse("");
    this.label(room);
    this.#fit();
    // On a phone the keyboard would cover what is to be read.
    if (matchMedia("(hover: hover)").matches) this.#text.focus();
  }

  label(room) {
    const label = say("write", { room: room.isPrivate ? room.title : `#${room.title}` });
    this.#text.placeholder = label;
    this.#text.ariaLabel = label;
  }

  keepDraft(room) {
    if (room) room.draft = this.#text.value;
  }

  /** The next line answers this message; null: none. */
  answer(message) {
    this.#answered = message;
    this.onResize(() => {
      byId("answering").hidden = !message;
      if (!message) return;
      byId("answering-whom").textContent = say("answering", { name: message.name });
      tint(byId("answering-whom"), message.name);
      byId("answering-what").textContent = beginning(textOf(message));
    });
    if (message) this.#text.focus();
  }

  #submit() {
    // Half of a character cannot be written as UTF-8, and no hub would take it.
    const text = this.#text.value.toWellFormed?.() ?? this.#text.value;
    if (!text.trim()) return;
    if (text.length > TEXT_CHARACTERS_MAX) {
      this.#refuse(say("e_too_long", { n: text.length, max: TEXT_CHARACTERS_MAX }));
      return;
    }
    const why = this.send(text, this.#answered?.stamp);
    this.#refuse(why);
    if (why) return;
    this.#text.value = "";
    this.answer(null);
    this.#fit();
  }

  #refuse(why) {
    byId("text-error").textContent = why;
  }

  #fit() {
    this.onResize(() => {
      this.#text.style.height = "auto";
      this.#text.style.height = `${Math.min(this.#text.scrollHeight, HEIGHT_PX_MAX)}px`;
    });
  }
}
