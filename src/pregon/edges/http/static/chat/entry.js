// The first page: under which name one takes part, and with which key if the hub asks for one.

import { byId } from "./dom.js";
import { recall, remember } from "./memory.js";
import { whyNoName, whyNot } from "./refusals.js";
import { say } from "./words.js";

export class Entry {
  #wanted = "";

  /** `enter` is called with a name. */
  constructor(enter) {
    byId("entry-form").onsubmit = (event) => {
      event.preventDefault();
      const key = byId("entry-key").value.trim();
      if (key) remember("key", key);
      this.#wanted = byId("entry-name").value.trim();
      this.#say(this.#wanted ? "" : say("e_name_none"));
      if (this.#wanted) enter(this.#wanted);
    };
  }

  show() {
    byId("chat").hidden = true;
    byId("entry").hidden = false;
    byId("entry-name").value = this.#wanted || recall("name");
    byId("entry-error").textContent = "";
    byId("entry-name").focus();
  }

  /** False if it was not on the screen. */
  hide() {
    const wasShown = byId("chat").hidden;
    byId("entry").hidden = true;
    byId("chat").hidden = false;
    return wasShown;
  }

  /** Say that there is nobody to ask yet. */
  wait() {
    this.#say(say("e_no_hub"));
  }

  askForKey() {
    this.show();
    byId("entry-key-part").hidden = false;
    this.#say(say("key_hint"));
    byId("entry-key").focus();
  }

  /** Say why the hub does not take a name, or does not know who comes back. */
  refuse(problem, wasKnown) {
    this.show();
    if (wasKnown) this.#say(say("e_unknown_person"));
    else this.#say(this.#wanted ? whyNoName(problem, this.#wanted) : whyNot(problem));
  }

  #say(why) {
    byId("entry-error").textContent = why;
  }
}
