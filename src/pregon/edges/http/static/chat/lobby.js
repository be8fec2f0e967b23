// Where rooms are chosen and made.

import { byId, make } from "./dom.js";
import { say } from "./words.js";

export class Lobby {
  #rooms = [];
  #mine;
  #enter;

  constructor({ mine, enter }) {
    this.#mine = mine;
    this.#enter = enter;
    byId("room-name").oninput = () => this.#fill();
    byId("room-form").onsubmit = (event) => {
      event.preventDefault();
      const name = byId("room-name").value.trim();
      if (name) this.enter(name);
      else this.refuse(say("e_room_none"));
    };
  }

  enter(name) {
    this.refuse("");
    this.#enter(name);
  }

  /** Say why not. */
  refuse(why) {
    byId("room-error").textContent = why;
  }

  clear() {
    byId("room-name").value = "";
    this.refuse("");
    this.#fill();
  }

  /** The rooms that there are, as the hub lists them. */
  set(rooms) {
    this.#rooms = rooms.filter((one) => !one.is_private);
    this.#fill();
  }

  /** Whether there is such a room, as far as is known here. */
  has(name) {
    return this.#rooms.some((one) => one.name === name);
  }

  refresh() {
    this.#fill();
  }

  #fill() {
    const wanted = byId("room-name").value.trim().toLowerCase();
    const found = this.#rooms.filter((one) => one.name.toLowerCase().includes(wanted));
    byId("room-submit").textContent = say(this.has(byId("room-name").value.trim()) ? "join" : "create");
    byId("nothing-found").hidden = this.#rooms.length > 0;
    byId("open-rooms").replaceChildren(...found.map((one) => this.#row(one)));
  }

  #row(one) {
    const go = make("button", { type: "button", dataset: { join: one.name }, onclick: () => this.enter(one.name) });
    go.append(
      make("span", { className: "hash", text: "#", ariaHidden: "true" }),
      make("span", { className: "name" }, make("strong", { text: one.name }), make("span", { className: "hint", text: one.description })),
      make("span", { className: "hint", text: say("people", { n: one.members }) }),
      make("span", { className: "go", text: say(this.#mine(one.name) ? "go" : "join") }),
    );
    return make("li", {}, go);
  }
}
