// All that one person does in all their rooms, over one line to the hub; what is on the screen is `app`'s.
//
// Promises:
// - After a lost connection every room goes on from the last message that was told: nothing is lost or told twice.
// - Lines that were written meanwhile are sent then, each with its own id and with what had been seen when it was written.
// - A room that somebody else opened with me comes by itself.

import * as hub from "./hub.js";
import { Line } from "./line.js";
import { recall, remember, secretFor, tabStorage } from "./memory.js";
import { Outbox } from "./outbox.js";
import { Room } from "./room.js";

const NEWEST = 50;
const AGAIN_MS = 1_000;
const SEEN_EVERY_MS = 400;
/** Why a room is closed for good; anything else passes. */
const FINAL = new Set(["not_a_member", "not_found", "forbidden", "unauthorized"]);

export class Talk {
  name = recall("name");
  rooms = new Map();
  open = null; // The room on the screen.
  #screen;
  outbox = new Outbox(tabStorage(), "pregon-chat-lines");
  #followed = new Set(); // Rooms that were asked for on this connection.
  #joined = new Set(); // Those of them where the hub has let me in.
  #wanted = ""; // The room, or the person, to open when the hub has let me in.
  #asked = {}; // And whether it may be made.
  #isFirstList = true;
  #unsaid = new Map(); // What was seen, of each room, and has not been told to the hub.

  /** `screen` is told what happens: see the methods that are called on it here. */
  constructor(screen) {
    this.#screen = screen;
    this.line = new Line({
      key: () => recall("key"),
      isKeyWanted: hub.isKeyWanted,
      onFrame: (frame) => this.#hear(frame),
      onGreeted: (frame) => this.#greeted(frame),
      onLost: () => screen.lost(),
      onKeyWanted: () => this.#wantKey(),
      ask: () => (this.open ? { do: "members", group: this.open.name } : { do: "groups" }),
    });
    setInterval(() => this.#tellSeen(), SEEN_EVERY_MS);
  }

  // What one does.

  /** Come back as who one was; false if nobody is known here. */
  comeBack() {
    const token = recall("token");
    if (!token) return false;
    this.line.open({ do: "hello", token });
    return true;
  }

  /** Take part under a name. */
  enroll(name) {
    this.#wanted = "";
    this.line.open({ do: "hello", name, secret: secretFor(name) });
  }

  /** Go into a room, made if it must be and may be. */
  enter(name, { create = true } = {}) {
    const room = this.rooms.get(name);
    if (room && this.#joined.has(name)) {
      this.#screen.entered(room);
      return true;
    }
    this.#wanted = name;
    this.#asked = { create };
    if (this.#followed.has(name)) return true;
    this.#followed.add(name);
    const isSaid = this.line.say({ do: "join", group: name, create, last: NEWEST });
    if (!isSaid) this.#followed.delete(name);
    return isSaid;
  }

  /** Talk with one other. */
  talkWith(name) {
    const isSaid = this.line.say({ do: "private", with: name, last: NEWEST });
    if (isSaid) this.#wanted = `@${name}`;
    return isSaid;
  }

  leave = (room) => this.line.say({ do: "leave", group: room.name });
  rename = (name) => this.line.say({ do: "rename", name });

  /** Write a line; false if too many wait already. */
  write(room, text, answers) {
    if (this.outbox.isFull) return false;
    this.outbox.add({ group: room.name, text, seen: room.seenSeq, answers });
    this.#pump(room.name);
    return true;
  }

  retry(room, id) {
    this.outbox.retry(id, room.seenSeq);
    this.#pump(room.name);
  }

  /** A room was on the screen up to a message. */
  see(room, seq) {
    if (!room.see(seq)) return false;
    this.#unsaid.set(room.name, seq);
    return true;
  }

  /** Messages from before the first that is here. */
  async readOlder(room) {
    try {
      return room.takeOlder(await hub.readBefore(room.name, room.firstSeq, room.oldestSeq));
    } catch {
      // There is no hub, or it does not want to: whoever scrolls asks again.
      return [];
    }
  }

  /** Give up the name, and leave every room; raises what the hub says against it. */
  async giveUp() {
    await hub.retire();
    this.line.close();
    for (const name of this.rooms.keys()) this.outbox.dropRoom(name);
    this.rooms.clear();
    this.open = null;
    remember("token", "");
    remember("name", "");
    this.name = "";
  }

  // What the hub says.

  #greeted({ name, token }) {
    if (token) {
      remember("token", token);
      remember("asked", "");
      this.line.comeBackWith({ do: "hello", token });
    }
    this.#called(name);
    this.#followed.clear();
    this.#joined.clear();
    this.#isFirstList = true;
    this.outbox.restart();
    this.#screen.here();
  }

  #called(name) {
    this.name = name;
    remember("name", name);
    this.#screen.named(name);
  }

  #wantKey() {
    this.line.close();
    this.#screen.keyWanted();
  }

  /** The hub does not know me, does not take the name that I want, or wants a key first. */
  async #refusedHello(frame) {
    const wasKnown = Boolean(recall("token"));
    if (frame.retryable) return setTimeout(() => this.line.restart(), AGAIN_MS);
    this.line.close();
    if (frame.code === "unauthorized") {
      if (await hub.isKeyWanted()) return this.#screen.keyWanted();
      remember("token", "");
    }
    return this.#screen.stranger(frame, wasKnown);
  }

  #hear(frame) {
    const verb = {
      groups: () => this.#listed(frame),
      joined: () => this.#entered(frame),
      message: () => this.#told(frame),
      accepted: () => this.#accepted(frame),
      members: () => this.#counted(frame),
      renamed: () => this.#renamed(frame),
      left: () => this.#left(frame),
      refused: () => this.#refused(frame),
    }[frame.is];
    verb?.();
  }

  #listed({ name, groups }) {
    if (name !== this.name) this.#called(name);
    if (this.#isFirstList) {
      this.#isFirstList = false;
      const mine = new Set(groups.map((one) => one.group));
      for (const room of this.rooms.values()) if (!mine.has(room.name)) this.#forget(room, { isAway: true });
    }
    // The room that is looked at comes first.
    groups.sort((one, other) => Number(other.group === this.open?.name) - Number(one.group === this.open?.name));
    for (const one of groups) {
      const room = this.#require(one.group);
      room.isPrivate = one.is_private;
      room.others = one.others;
      if (!this.#followed.has(room.name)) this.#follow(room);
    }
    this.#screen.roomsChanged();
    this.#screen.listed();
  }

  #follow(room) {
    this.#followed.add(room.name);
    const from = room.lastSeq ? { after: room.lastSeq } : { last: NEWEST };
    this.line.say({ do: "join", group: room.name, ...from });
  }

  #require(name) {
    let room = this.rooms.get(name);
    if (!room) {
      room = new Room(name);
      room.hiddenSeq = Number(recall(`hidden-${name}`)) || 0;
      this.rooms.set(name, room);
    }
    return room;
  }

  #entered(frame) {
    const { group, head } = frame;
    const isKnown = this.rooms.has(group);
    const room = this.#require(group);
    if (frame.with) {
      room.isPrivate = true;
      if (!isKnown) room.others = [frame.with];
    }
    if (head < room.lastSeq) {
      // This hub was given an older copy of its data: what was read here is not what it has.
      room.reset();
      this.line.restart();
      return;
    }
    room.join(frame);
    this.#followed.add(group);
    this.#joined.add(group);
    this.#pump(group);
    if (this.#wanted === group || (frame.with && this.#wanted === `@${frame.with}`)) {
      this.#wanted = "";
      room.isOpened = true;
      this.#screen.entered(room);
    } else {
      this.#screen.membersChanged(room);
      this.#screen.roomsChanged();
    }
  }

  #told(message) {
    const room = this.rooms.get(message.group);
    if (!room?.take(message)) return;
    if (message.member === room.member) this.outbox.arrived(message);
    this.#screen.told(room, message);
  }

  #accepted({ group, id, seq }) {
    const room = this.rooms.get(group);
    this.outbox.accepted(id, seq, room?.lastSeq ?? 0);
    this.#pump(group);
    if (room) this.#screen.waitingChanged(room);
  }

  #counted({ group, members }) {
    const room = this.rooms.get(group);
    if (!room) return;
    room.setMembers(members);
    this.#screen.membersChanged(room);
  }

  #renamed({ name }) {
    this.#called(name);
    this.#screen.renamed(name);
  }

  #left({ group, code }) {
    this.#followed.delete(group);
    this.#joined.delete(group);
    const room = this.rooms.get(group);
    if (!room) return;
    if (code && !FINAL.has(code)) setTimeout(() => this.#followAgain(room), AGAIN_MS);
    else this.#forget(room, { isAway: Boolean(code) });
  }

  #followAgain(room) {
    if (this.rooms.get(room.name) === room && !this.#followed.has(room.name)) this.#follow(room);
  }

  #forget(room, { isAway }) {
    this.rooms.delete(room.name);
    this.outbox.dropRoom(room.name);
    this.#screen.gone(room, isAway);
  }

  #refused(frame) {
    const { do: verb, group, id, code, message, retryable } = frame;
    const room = this.rooms.get(group);
    if (verb === "hello") {
      this.#refusedHello(frame);
    } else if (verb === "send") {
      if (retryable) {
        this.outbox.postponed(id);
        setTimeout(() => this.#pump(group), AGAIN_MS);
        return;
      }
      this.outbox.refused(id, code, message);
      this.#pump(group);
      if (room) this.#screen.waitingChanged(room);
    } else if (verb === "join") {
      this.#refusedRoom(frame, room);
    } else if (verb === "private" || verb === "rename" || verb === "leave") {
      this.#screen.refused(verb, frame, this.#wanted);
    }
  }

  #refusedRoom(frame, room) {
    const { group, retryable } = frame;
    // A private conversation may be in the list of groups before the hub has let me in, and then it is asked for twice.
    if (this.#joined.has(group)) return;
    this.#followed.delete(group);
    if (retryable) {
      setTimeout(() => (room ? this.#followAgain(room) : this.enter(group, this.#asked)), AGAIN_MS);
      return;
    }
    if (room) this.#forget(room, { isAway: true });
    if (this.#wanted === group) {
      this.#wanted = "";
      this.#screen.refused("join", frame, group);
    }
  }

  // What is said when it can be.

  #pump(group) {
    if (!this.line.isGreeted || !this.#joined.has(group)) return;
    const line = this.outbox.next(group);
    if (!line) return;
    const room = this.rooms.get(group);
    // Who has left a private conversation is asked back in before something is said to them.
    if (room.isDeserted && room.others.length) this.line.say({ do: "private", with: room.others[0] });
    const answers = line.answers ? { answers: line.answers } : {};
    this.line.say({ do: "send", group, id: line.id, text: line.text, seen: line.seen, ...answers });
  }

  #tellSeen() {
    for (const [group, seq] of this.#unsaid) {
      if (!this.#joined.has(group)) continue;
      this.#unsaid.delete(group);
      this.line.say({ do: "seen", group, seq });
    }
  }
}
