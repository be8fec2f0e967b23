// Lines that were written and are not yet known to be on the hub's disk.
//
// Promises:
// - A line has one id for ever, so that the hub takes it once however often it is sent; and what its writer had seen when
//   it was written, so that it depends on that and not on what came while the line waited.
// - The lines of a room are sent in the order in which they were written: the next when the one before it is settled.
// - They outlive a reload of the page.

import { randomHex } from "./random.js";

const LINES_MAX = 500;

export class Outbox {
  #storage;
  #key;
  #lines = [];
  #underWay = new Map(); // Of each room, the id that was sent on this connection and is not answered.

  constructor(storage, key) {
    this.#storage = storage;
    this.#key = key;
    try {
      this.#lines = JSON.parse(storage.getItem(key) ?? "[]");
    } catch {
      this.#lines = [];
    }
  }

  get isFull() {
    return this.#lines.length >= LINES_MAX;
  }

  /** One more line. */
  add({ group, text, seen, answers }) {
    const line = { id: randomHex(16), group, text, seen, answers, at: new Date().toISOString(), isTried: false };
    this.#lines.push(line);
    this.#keep();
    return line;
  }

  /** The lines of a room that people should see as waiting. */
  waiting(group) {
    return this.#lines.filter((line) => line.group === group && !line.isShown);
  }

  groups() {
    return new Set(this.#lines.map((line) => line.group));
  }

  /** The line of a room to send now, if there is one. */
  next(group) {
    if (this.#underWay.has(group)) return null;
    const line = this.#lines.find((one) => one.group === group && !one.why && one.seq === undefined);
    if (!line) return null;
    line.isTried = true;
    this.#underWay.set(group, line.id);
    this.#keep();
    return line;
  }

  /** The connection is another: whatever was under way is sent again. */
  restart() {
    this.#underWay.clear();
  }

  /** The hub has it, as the message with this number; it waits to be shown in its place if it has not come yet. */
  accepted(id, seq, lastSeq) {
    const line = this.#settle(id);
    if (!line) return;
    if (seq <= lastSeq) this.drop(id);
    else line.seq = seq;
    this.#keep();
  }

  /** A message of mine has come: the line that it was need not be shown as waiting any more. */
  arrived(message) {
    // Before the hub has said which message a line is, it is known by what it says; and it comes after what was seen.
    const isAlike = (one) =>
      one.isTried && !one.isShown && one.seq === undefined && message.seq > one.seen &&
      one.text === message.text && (one.answers ?? null) === message.answers;
    const line = this.#lines.find((one) => one.group === message.group && (one.seq === message.seq || isAlike(one)));
    if (!line) return;
    if (line.seq === undefined) line.isShown = true;
    else this.drop(line.id);
    this.#keep();
  }

  /** The hub does not take it, and says why; its writer decides. */
  refused(id, code, why) {
    const line = this.#settle(id);
    if (!line) return;
    line.code = code;
    line.why = why;
    line.isShown = false;
    this.#keep();
  }

  /** It was not its turn: it will be sent again. */
  postponed(id) {
    this.#settle(id);
  }

  /** Send a refused line after all, as said by who has now seen more. */
  retry(id, seen) {
    const line = this.#lines.find((one) => one.id === id);
    if (!line) return;
    line.why = line.code = undefined;
    line.seen = seen;
    this.#keep();
  }

  drop(id) {
    this.#lines = this.#lines.filter((one) => one.id !== id);
    this.#keep();
  }

  dropRoom(group) {
    this.#lines = this.#lines.filter((one) => one.group !== group);
    this.#underWay.delete(group);
    this.#keep();
  }

  #settle(id) {
    const line = this.#lines.find((one) => one.id === id);
    if (line && this.#underWay.get(line.group) === id) this.#underWay.delete(line.group);
    return line;
  }

  #keep() {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(this.#lines));
    } catch {
      // Without storage they live as long as the page.
    }
  }
}
