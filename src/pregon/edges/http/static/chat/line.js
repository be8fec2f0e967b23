// The line to the hub: one WebSocket that comes back by itself.
//
// Promises:
// - When the line is lost it is tried again, soon and then less often, until it is closed on purpose.
// - A line that has gone silent without breaking is noticed, and given up for a new one.
// - Frames go out at a pace that the hub takes; those that wait when the line breaks are gone, and whoever needs them says
//   them again when `onGreeted` is called.

const FRAMES_AT_ONCE = 40;
const REFILL_MS = 500;
const RETRY_MS_MIN = 300;
const RETRY_MS_MAX = 5_000;
const ASK_EVERY_MS = 10_000;
const SILENT_MS_MAX = 25_000;

export class Line {
  #socket = null;
  #greeting = null;
  #isGreeted = false;
  #queue = [];
  #credit = FRAMES_AT_ONCE;
  #retryMs = RETRY_MS_MIN;
  #retryTimer = 0;
  #heardMs = 0;

  constructor({ key, isKeyWanted, onFrame, onGreeted, onLost, onKeyWanted, ask }) {
    this.key = key;
    this.isKeyWanted = isKeyWanted;
    this.onFrame = onFrame;
    this.onGreeted = onGreeted;
    this.onLost = onLost;
    this.onKeyWanted = onKeyWanted;
    setInterval(() => this.#refill(), REFILL_MS);
    setInterval(() => this.#lookAfter(ask), ASK_EVERY_MS);
    window.addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.#hurry());
  }

  get isGreeted() {
    return this.#isGreeted;
  }

  /** Connect, and say who one is with this hello. */
  open(greeting) {
    this.close();
    this.#greeting = greeting;
    this.#retryMs = RETRY_MS_MIN;
    this.#connect();
  }

  /** With this hello it comes back: the token, once there is one. */
  comeBackWith(greeting) {
    this.#greeting = greeting;
  }

  /** Hang up and stay so. */
  close() {
    clearTimeout(this.#retryTimer);
    this.#greeting = null;
    this.#drop();
  }

  /** Hang up and come back at once. */
  restart() {
    const greeting = this.#greeting;
    if (greeting) this.open(greeting);
  }

  /** Say something; false if there is no line. */
  say(frame) {
    if (!this.#isGreeted) return false;
    this.#queue.push(JSON.stringify(frame));
    this.#flush();
    return true;
  }

  #connect() {
    const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/v1/groups/socket`;
    const key = this.key();
    const socket = new WebSocket(address, key ? ["pregon", `pregon.key.${key}`] : ["pregon"]);
    this.#socket = socket;
    this.#heardMs = performance.now();
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      socket.send(JSON.stringify(this.#greeting));
    };
    socket.onmessage = (event) => this.#hear(JSON.parse(event.data));
    socket.onclose = () => this.#lose(wasOpen);
  }

  #hear(frame) {
    this.#heardMs = performance.now();
    if (frame.is === "hello") {
      this.#isGreeted = true;
      this.#retryMs = RETRY_MS_MIN;
      this.#credit = FRAMES_AT_ONCE;
      this.onGreeted(frame);
    } else {
      this.onFrame(frame);
    }
  }

  #lose(wasOpen) {
    this.#drop();
    if (!this.#greeting) return;
    this.onLost();
    if (!wasOpen) this.#askWhy();
    // Many pages that lost the same hub should not all come back in the same instant.
    this.#retryTimer = setTimeout(() => this.#connect(), this.#retryMs * (0.75 + Math.random() / 2));
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  /** A browser does not tell why a WebSocket was refused: perhaps because the key is not the right one. */
  async #askWhy() {
    if ((await this.isKeyWanted()) && this.#greeting) this.onKeyWanted();
  }

  #drop() {
    const socket = this.#socket;
    this.#socket = null;
    this.#isGreeted = false;
    this.#queue = [];
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  #hurry() {
    if (!this.#greeting || this.#socket) return;
    clearTimeout(this.#retryTimer);
    this.#retryMs = RETRY_MS_MIN;
    this.#connect();
  }

  #lookAfter(ask) {
    if (!this.#socket) return;
    if (performance.now() - this.#heardMs > SILENT_MS_MAX) this.#lose(true);
    else if (this.#isGreeted) this.say(ask());
  }

  #refill() {
    this.#credit = FRAMES_AT_ONCE;
    this.#flush();
  }

  #flush() {
    while (this.#queue.length && this.#credit > 0 && this.#socket?.readyState === WebSocket.OPEN) {
      this.#credit -= 1;
      this.#socket.send(this.#queue.shift());
    }
  }
}
