// The conversation of the open room on the screen.
//
// Promises:
// - Messages stand in the order of the log, which is causal: an answer always below what it answers. Grouped by
//   threads, each answer stands right under it instead.
// - What was on the screen is known: `onSeen` is told the last message that was, and no later one.
// - Who reads older messages is not moved by new ones; older ones come when the top is near.

import { byId, make } from "./dom.js";
import { isContinued, rowOf } from "./rows.js";
import { isShown } from "./room.js";
import { say } from "./words.js";

const NEAR_PX = 60;

export class LogView {
  #scroller = byId("scroller");
  #log = byId("log");
  #toBottom = byId("to-bottom");
  #marking = byId("marking");
  #room = null;
  #marked = "";
  #isLoading = false;
  #placedSeq = 0; // Up to here the room is in the log.
  isThreaded = false;

  constructor({ verbs, onSeen, loadOlder }) {
    this.verbs = { ...verbs, goTo: (stamp) => this.goTo(stamp), mark: (message) => this.mark(message.stamp) };
    this.onSeen = onSeen;
    this.loadOlder = loadOlder;
    this.#scroller.addEventListener("scroll", () => this.#look(), { passive: true });
    this.#scroller.addEventListener("keydown", (event) => this.#walk(event));
    window.addEventListener("resize", () => this.#look());
    document.addEventListener("visibilitychange", () => this.#look());
    this.#toBottom.onclick = () => this.toBottom();
    byId("marking-end").onclick = () => this.mark("");
  }

  /** Show a room from what is known of it. */
  show(room) {
    if (room !== this.#room) this.#marked = "";
    this.#room = room;
    this.#fill();
    const first = this.#log.querySelector(".divider");
    if (first) this.#scroller.scrollTop = first.offsetTop - this.#scroller.clientHeight / 3;
    else this.toBottom();
    this.#look();
  }

  /** Show it anew, where it is: the language or the arrangement is another. */
  refresh() {
    if (!this.#room) return;
    const fromBottom = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    this.#fill();
    this.#scroller.scrollTop = this.#scroller.scrollHeight - fromBottom;
    this.#look();
  }

  /** Show what has come to the room since it was last shown. */
  catchUp() {
    const { messages, lastSeq } = this.#room;
    const known = messages.findLastIndex((one) => one.seq <= this.#placedSeq) + 1;
    if (known === messages.length) return;
    const wasAtBottom = this.isAtBottom;
    for (const message of messages.slice(known)) {
      if (isShown(message)) this.#place(rowOf(this.#room, message, this.verbs), message);
    }
    this.#placedSeq = lastSeq;
    if (this.#marked) this.#showMarks();
    if (wasAtBottom) {
      this.#trim();
      this.toBottom();
    }
    this.#look();
  }

  /** Something else below the log has changed its height. */
  keepBottom(change) {
    const wasAtBottom = this.isAtBottom;
    change();
    if (wasAtBottom) this.toBottom();
  }

  get isAtBottom() {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_PX;
  }

  toBottom() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#look();
  }

  /** What came before is no news any more. */
  removeDivider() {
    this.#log.querySelector(".divider")?.remove();
  }

  goTo(stamp) {
    const row = this.#find(stamp);
    if (!row) return;
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
    row.classList.remove("flash");
    requestAnimationFrame(() => row.classList.add("flash"));
  }

  /** Mark what is concurrent with a message; the same again, or nothing, ends it. */
  mark(stamp) {
    this.#marked = this.#marked === stamp ? "" : stamp;
    this.keepBottom(() => this.#showMarks());
  }

  // The rows.

  #fill() {
    this.#log.setAttribute("aria-busy", "true");
    this.#log.replaceChildren();
    const room = this.#room;
    const news = room.unread
      ? room.messages.find((one) => one.seq > room.seenSeq && one.kind === "message" && one.member !== room.member)
      : null;
    for (const message of room.messages) {
      if (message === news) {
        this.#log.append(make("li", { className: "divider", text: say("new_messages"), dataset: { depth: 0 } }));
      }
      if (isShown(message)) this.#place(rowOf(room, message, this.verbs), message);
    }
    this.#placedSeq = room.lastSeq;
    this.#showTop();
    this.#showMarks();
    this.#log.removeAttribute("aria-busy");
  }

  /** Who is at the bottom has no use for what is far above; it is read again when it is wanted. */
  #trim() {
    const dropped = this.#room.trim();
    for (const one of dropped) this.#find(one.stamp)?.remove();
    if (dropped.length) this.#showTop();
  }

  #place(row, message) {
    const parent = this.isThreaded && message.answers ? this.#find(message.answers) : null;
    let before = this.#log.lastElementChild;
    if (parent) {
      before = parent;
      while (Number(before.nextElementSibling?.dataset.depth ?? 0) > Number(parent.dataset.depth)) {
        before = before.nextElementSibling;
      }
    }
    row.classList.toggle("continued", isContinued(row, before));
    if (before) before.after(row);
    else this.#log.append(row);
    const next = row.nextElementSibling;
    if (next) next.classList.toggle("continued", isContinued(next, row));
  }

  #find(stamp) {
    return this.#log.querySelector(`[data-stamp="${CSS.escape(stamp)}"]`);
  }

  #showTop() {
    const older = byId("older");
    older.textContent = this.#room.hasOlder ? say("loading") : say("beginning");
  }

  #showMarks() {
    for (const row of this.#log.querySelectorAll(".concurrent, .chosen")) row.classList.remove("concurrent", "chosen");
    for (const tag of this.#log.querySelectorAll(".mark")) tag.remove();
    const chosen = this.#marked ? this.#room.byStamp.get(this.#marked) : null;
    this.#marking.hidden = !chosen;
    this.#log.classList.toggle("marked", Boolean(chosen));
    if (!chosen) return;
    this.#find(this.#marked)?.classList.add("chosen");
    let n = 0;
    for (const stamp of this.#room.history.concurrentWith(this.#marked)) {
      const row = this.#find(stamp);
      if (!row || row.dataset.kind !== "message") continue;
      n += 1;
      row.classList.add("concurrent");
      row.querySelector(".head").append(make("span", { className: "mark", text: say("concurrent_mark") }));
    }
    this.#marking.firstElementChild.textContent = say("concurrent_with", { n, name: chosen.name });
  }

  // The screen.

  /** What is on the screen now, and whether more is wanted. */
  #look() {
    const room = this.#room;
    if (!room) return;
    const isOnScreen = document.visibilityState === "visible" && this.#scroller.clientHeight > 0;
    if (isOnScreen) {
      const seq = this.isThreaded || this.isAtBottom ? this.#placedSeq : this.#lastSeqOnScreen();
      this.onSeen(room, seq);
    }
    this.#toBottom.hidden = this.isAtBottom;
    if (!this.#toBottom.hidden) this.#toBottom.textContent = say("to_bottom", { n: room.unread });
    if (isOnScreen && this.#scroller.scrollTop < this.#scroller.clientHeight && room.hasOlder) this.#readOlder(room);
  }

  #lastSeqOnScreen() {
    const rows = this.#log.children;
    const bottom = this.#scroller.scrollTop + this.#scroller.clientHeight;
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].offsetTop + Math.min(rows[middle].offsetHeight, 20) <= bottom) low = middle + 1;
      else high = middle;
    }
    for (let at = low - 1; at >= 0; at -= 1) if (rows[at].dataset.seq) return Number(rows[at].dataset.seq);
    return 0;
  }

  async #readOlder(room) {
    if (this.#isLoading) return;
    this.#isLoading = true;
    const fresh = await this.loadOlder(room);
    if (room === this.#room && fresh.length) this.refresh();
    this.#isLoading = false;
    if (room !== this.#room) return;
    this.#showTop();
    // What has come may not fill the screen yet.
    if (fresh.length) this.#look();
  }

  /** Arrows go from row to row. */
  #walk(event) {
    const step = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
    const row = event.target.closest?.("#log > li");
    if (!step || !row) return;
    event.preventDefault();
    const next = row[step];
    if (next) next.focus();
    else if (event.key === "ArrowDown") byId("text").focus();
  }

  /** The last row, for who comes from below. */
  focusLast() {
    this.#log.lastElementChild?.focus();
  }
}
