// A room as this page knows it: what was said in it, who is in it, and how much of it was on the screen. Pure.
//
// Promises:
// - A message is taken once, in the order of the log, which is causal; one that was taken before is recognised.
// - Who came and went is known from the kind of a message, which only the hub sets, never from its text.
// - At most `KEPT_MAX` messages are kept; older ones are asked for again.

import { History } from "./causal.js";

export const KEPT_MAX = 2_000;
const DROPPED = 500;
/** Kinds that people are shown; `joining` and `leaving` only announce what follows. */
const SHOWN = new Set(["message", "joined", "left", "gone", "renamed"]);

export const isShown = (message) => SHOWN.has(message.kind);

export class Room {
  constructor(name) {
    this.name = name;
    this.isPrivate = false;
    this.others = [];
    this.member = 0; // Which member I am.
    this.members = new Map(); // By number: { member, name, is_here }.
    this.messages = [];
    this.byStamp = new Map();
    this.lastSeq = 0; // Everything up to here was told.
    this.firstSeq = 0; // The oldest that is here.
    this.oldestSeq = 1; // The oldest that there is for me.
    this.seenSeq = 0; // What was on the screen, as the hub has been told by any of my pages.
    this.unread = 0;
    this.isJoined = false; // Whether this page has been let in since it was loaded.
    this.isOpened = false; // Whether I asked for it: a private room without a word is not shown otherwise.
    this.draft = "";
    this.#membersSeq = 0;
    this.#history = null;
  }

  #membersSeq;
  #history;

  /** The hub has let me in. */
  join(told) {
    this.member = told.member;
    this.oldestSeq = told.first;
    if (!this.isJoined || told.seen > this.seenSeq) this.seenSeq = told.seen;
    if (!this.firstSeq) this.firstSeq = told.head + 1;
    this.isJoined = true;
    this.#membersSeq = told.head;
    this.setMembers(told.members);
    this.#countUnread();
  }

  setMembers(members) {
    this.members = new Map(members.map((one) => [one.member, one]));
  }

  /** Begin anew, when the hub's log is not the one that was read. */
  reset() {
    this.messages = [];
    this.byStamp.clear();
    this.lastSeq = this.firstSeq = this.seenSeq = this.unread = 0;
    this.isJoined = false;
    this.#history = null;
  }

  /** The next message; false if it is here already. */
  take(message) {
    if (message.seq <= this.lastSeq) return false;
    this.messages.push(message);
    this.byStamp.set(message.stamp, message);
    this.lastSeq = message.seq;
    if (!this.firstSeq || this.firstSeq > message.seq) this.firstSeq = message.seq;
    this.#history?.add(message.stamp, message.after);
    if (message.seq > this.#membersSeq) this.#follow(message);
    if (this.#isNews(message)) this.unread += 1;
    return true;
  }

  /** Messages from before the first one that is here, in order. */
  takeOlder(older) {
    const fresh = older.filter((message) => message.seq < this.firstSeq);
    if (!fresh.length) {
      this.oldestSeq = this.firstSeq;
      return [];
    }
    this.messages = [...fresh, ...this.messages];
    for (const message of fresh) this.byStamp.set(message.stamp, message);
    this.firstSeq = fresh[0].seq;
    this.#history = null;
    this.#countUnread();
    return fresh;
  }

  /** Forget the oldest, if there are too many; those that are forgotten. */
  trim() {
    if (this.messages.length <= KEPT_MAX) return [];
    const dropped = this.messages.splice(0, this.messages.length - KEPT_MAX + DROPPED);
    for (const message of dropped) this.byStamp.delete(message.stamp);
    this.firstSeq = this.messages[0].seq;
    this.#history = null;
    return dropped;
  }

  /** It was on the screen up to here; whether that is news. */
  see(seq) {
    if (seq <= this.seenSeq) return false;
    this.seenSeq = seq;
    this.#countUnread();
    return true;
  }

  get hasOlder() {
    return this.isJoined && this.firstSeq > this.oldestSeq;
  }

  get hasWords() {
    return this.messages.some((message) => message.kind === "message");
  }

  /** The messages in their causal order. */
  get history() {
    if (!this.#history) {
      this.#history = new History();
      for (const message of this.messages) this.#history.add(message.stamp, message.after);
    }
    return this.#history;
  }

  /** How people call it: a private room by who else is in it. */
  get title() {
    if (!this.isPrivate) return this.name;
    const isOther = (one) => one.member !== this.member;
    const there = [...this.members.values()].find(isOther)?.name ?? this.others[0];
    // Who has given up their name is still called so where they spoke.
    return there ?? this.messages.findLast((one) => one.kind === "message" && isOther(one))?.name ?? this.name;
  }

  /** Whether the other one of a private room has left it. */
  get isDeserted() {
    return this.isPrivate && this.isJoined && this.members.size < 2;
  }

  /** How many answers deep a message stands. */
  depth(message) {
    let depth = 0;
    for (let one = message; one?.answers && depth < 5; one = this.byStamp.get(one.answers)) depth += 1;
    return depth;
  }

  #isNews(message) {
    return message.kind === "message" && message.member !== this.member && message.seq > this.seenSeq;
  }

  #countUnread() {
    this.unread = this.messages.filter((message) => this.#isNews(message)).length;
  }

  #follow(message) {
    const { kind, member, name } = message;
    const about = message.json ?? {};
    if (kind === "joined") this.members.set(member, { member, name, is_here: true });
    else if (kind === "left") this.members.delete(member);
    else if (kind === "gone") this.members.delete(about.member);
    else if (kind === "renamed" && this.members.has(about.member)) {
      this.members.set(about.member, { ...this.members.get(about.member), name: about.name });
    }
  }
}
