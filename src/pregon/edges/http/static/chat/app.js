// The page: what is on the screen, and what people do there. What it means is in `talk`.

import { byId, linkedRoom } from "./dom.js";
import { Entry } from "./entry.js";
import { listRooms } from "./hub.js";
import { Lobby } from "./lobby.js";
import { LogView } from "./log_view.js";
import { recall, remember } from "./memory.js";
import { whyNoName, whyNoRoom, whyNot, whyNotSent } from "./refusals.js";
import { waitingRow } from "./rows.js";
import { Settings, applySettings } from "./settings.js";
import { showHeading, showMembers, showRooms, showSelf } from "./side_view.js";
import { Talk } from "./talk.js";
import { say } from "./words.js";
import { Writing } from "./writing.js";

const SOON_MS = 30;

class Page {
  #soon = new Set();
  #isHere = false;
  #linked = linkedRoom(); // The room of the address, until it is open.
  #wantedName = "";

  constructor() {
    applySettings();
    this.talk = new Talk(this);
    this.entry = new Entry((name) => this.#comeIn(name));
    this.lobby = new Lobby({ mine: (name) => this.talk.rooms.has(name), enter: (name) => this.#enter(name) });
    this.writing = new Writing({
      send: (text, answers) => this.#send(text, answers),
      toLog: () => this.log.focusLast(),
      onResize: (change) => this.log.keepBottom(change),
    });
    this.log = new LogView({
      verbs: { talkWith: (name) => this.#talkWith(name), answer: (message) => this.writing.answer(message) },
      onSeen: (room, seq) => this.talk.see(room, seq) && this.roomsChanged(),
      loadOlder: (room) => this.talk.readOlder(room),
    });
    this.settings = new Settings({
      rename: (name) => this.#rename(name),
      giveUp: () => this.#giveUp(),
      onLanguage: () => this.#showAll(),
    });
    this.#wire();
    if (this.talk.comeBack()) this.#showChat();
    else this.entry.show();
  }

  #wire() {
    byId("to-lobby").onclick = () => this.#showLobby();
    byId("leave").onclick = () => this.#leave();
    byId("threads").onclick = () => this.#setThreads(!this.log.isThreaded);
    byId("notice").querySelector("button").onclick = () => this.#notice("");
    byId("show-places").onclick = () => this.#draw("places");
    byId("show-members").onclick = () => this.#draw("people");
    byId("curtain").onclick = () => this.#draw("");
    window.addEventListener("hashchange", () => {
      this.#linked = linkedRoom();
      if (this.#linked && this.#linked !== this.talk.open?.name) this.#followLink();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      this.#draw("");
      this.log.mark("");
    });
    this.#setThreads(recall("threads") === "yes");
  }

  // What people do.

  #comeIn(name) {
    // Who has this name here already only lacked a key.
    if (name !== recall("name") || !this.talk.comeBack()) this.talk.enroll(name);
  }

  #enter(name, options) {
    if (!this.talk.enter(name, options)) this.lobby.refuse(say("e_no_line"));
  }

  #followLink() {
    const name = this.#linked;
    this.#linked = "";
    // A link with a slip in it should not make a room.
    this.#enter(name, { create: false });
  }

  #talkWith(name) {
    this.#draw("");
    if (!this.talk.talkWith(name)) this.#notice(say("e_no_line"));
  }

  #send(text, answers) {
    const room = this.talk.open;
    if (!this.talk.write(room, text, answers)) return say("e_outbox_full");
    this.log.removeDivider();
    this.waitingChanged(room);
    this.log.toBottom();
    return "";
  }

  #leave() {
    const room = this.talk.open;
    if (!room.isPrivate) {
      if (!this.talk.leave(room)) this.#notice(say("e_no_line"));
      return;
    }
    // A private conversation is only put away: it comes back with the next word.
    room.hiddenSeq = room.lastSeq;
    room.isOpened = false;
    remember(`hidden-${room.name}`, String(room.lastSeq));
    this.#showLobby();
  }

  #rename(name) {
    this.#wantedName = name;
    if (!name) this.settings.refuse(say("e_name_none"));
    else if (!this.talk.rename(name)) this.settings.refuse(say("e_no_line"));
  }

  async #giveUp() {
    try {
      await this.talk.giveUp();
    } catch (problem) {
      this.settings.refuse(problem.code ? whyNot({ code: problem.code, message: problem.detail }) : say("e_no_line"));
      return;
    }
    this.settings.close();
    this.#setAddress("");
    this.entry.show();
  }

  // What happens: called by `talk`.

  here() {
    this.#isHere = true;
    this.#showChat();
    this.#showState();
    if (this.talk.open) this.waitingChanged(this.talk.open);
  }

  lost() {
    this.#isHere = false;
    this.entry.wait();
    this.#showState();
    if (this.talk.open) this.waitingChanged(this.talk.open);
  }

  named(name) {
    showSelf(name);
    this.settings.name = name;
  }

  renamed(name) {
    this.settings.renamed(say("name_changed", { name }));
  }

  keyWanted() {
    this.entry.askForKey();
  }

  stranger(problem, wasKnown) {
    this.entry.refuse(problem, wasKnown);
  }

  listed() {
    if (this.#linked) this.#followLink();
    if (!this.talk.open) this.#readRooms();
  }

  entered(room) {
    this.#open(room);
  }

  told(room, message) {
    if (room === this.talk.open) {
      // What comes in one go is shown in one go.
      this.#shortly("log", () => this.talk.open && this.waitingChanged(this.talk.open), 0);
      if (message.kind !== "message") this.membersChanged(room);
    }
    this.roomsChanged();
  }

  waitingChanged(room) {
    if (room !== this.talk.open) return;
    // A line that waits no more has its place in the log before it is gone from here.
    this.log.catchUp();
    this.log.keepBottom(() => {
      const rows = this.talk.outbox.waiting(room.name).map((line) =>
        waitingRow(line, room, {
          isHere: this.#isHere,
          name: this.talk.name,
          why: line.why && whyNotSent(line),
          retry: () => {
            this.talk.retry(room, line.id);
            this.waitingChanged(room);
          },
          discard: () => {
            this.talk.outbox.drop(line.id);
            this.waitingChanged(room);
          },
        }),
      );
      byId("waiting-lines").replaceChildren(...rows);
    });
  }

  membersChanged(room) {
    if (room !== this.talk.open) return;
    this.#shortly("members", () => {
      showMembers(this.talk.open, (name) => this.#talkWith(name));
      this.#showTitle();
    });
  }

  roomsChanged() {
    this.#shortly("rooms", () => showRooms(this.talk.rooms, this.talk.open, (room) => this.#open(room)));
  }

  gone(room, isAway) {
    if (isAway) this.#notice(say("e_room_closed", { name: room.title }));
    if (room === this.talk.open) this.#showLobby();
    this.roomsChanged();
  }

  refused(verb, frame, wanted) {
    if (verb === "join") {
      if (this.talk.open) this.#showLobby();
      this.lobby.refuse(whyNoRoom(frame, wanted, this.lobby.has(wanted)));
    } else if (verb === "rename") this.settings.refuse(whyNoName(frame, this.#wantedName));
    else if (verb === "private" && frame.code === "not_found") this.#notice(say("e_nobody", { name: wanted.slice(1) }));
    else this.#notice(whyNot(frame));
  }

  // What is on the screen.

  #showChat() {
    if (!this.entry.hide()) return;
    showSelf(this.talk.name);
    this.#showState();
    this.#showLobby();
  }

  #showState() {
    const state = byId("state");
    // Before it was ever here there is nothing to be without.
    state.textContent = this.#isHere ? "" : say(this.talk.rooms.size ? "lost" : "connecting");
    state.hidden = this.#isHere;
  }

  #showLobby() {
    this.writing.keepDraft(this.talk.open);
    this.talk.open = null;
    byId("talk").hidden = true;
    byId("lobby").hidden = false;
    byId("chat").dataset.view = "lobby";
    this.lobby.clear();
    this.#setAddress("");
    this.#draw("");
    this.#showTitle();
    showMembers(null);
    this.roomsChanged();
    if (this.#isHere) this.#readRooms();
  }

  async #readRooms() {
    try {
      this.lobby.set(await listRooms());
    } catch {
      // The rooms that were there stay on the screen until the hub is back.
    }
  }

  #open(room) {
    this.writing.keepDraft(this.talk.open);
    this.talk.open = room;
    room.isOpened = true;
    byId("lobby").hidden = true;
    byId("talk").hidden = false;
    byId("chat").dataset.view = "room";
    this.#notice("");
    this.#draw("");
    this.#setAddress(room.isPrivate ? "" : room.name);
    this.#showTitle();
    this.writing.begin(room);
    this.log.show(room);
    this.waitingChanged(room);
    this.membersChanged(room);
    this.roomsChanged();
    this.talk.line.say({ do: "members", group: room.name });
  }

  #showTitle() {
    showHeading(this.talk.open);
    if (this.talk.open) this.writing.label(this.talk.open);
  }

  #showAll() {
    if (byId("chat").hidden) return;
    this.#showState();
    this.#showTitle();
    this.lobby.refresh();
    this.roomsChanged();
    if (!this.talk.open) return;
    this.log.refresh();
    this.waitingChanged(this.talk.open);
    this.membersChanged(this.talk.open);
  }

  #setThreads(isThreaded) {
    this.log.isThreaded = isThreaded;
    remember("threads", isThreaded ? "yes" : "");
    byId("threads").setAttribute("aria-pressed", String(isThreaded));
    this.log.refresh();
  }

  #setAddress(name) {
    history.replaceState(null, "", name ? `#${encodeURIComponent(name)}` : location.pathname + location.search);
  }

  #notice(text) {
    const notice = byId("notice");
    notice.firstElementChild.textContent = text;
    notice.hidden = !text;
  }

  /** On a narrow screen what stands beside comes out on demand. */
  #draw(which) {
    const chat = byId("chat");
    chat.dataset.drawer = chat.dataset.drawer === which ? "" : which;
    byId("show-places").ariaExpanded = String(chat.dataset.drawer === "places");
    byId("show-members").ariaExpanded = String(chat.dataset.drawer === "people");
  }

  /** Many messages in a moment change what stands beside them once. */
  #shortly(what, show, ms = SOON_MS) {
    if (this.#soon.has(what)) return;
    this.#soon.add(what);
    setTimeout(() => {
      this.#soon.delete(what);
      show();
    }, ms);
  }
}

new Page();
