// One row of a conversation: a message, an event, or a line that waits to be sent.
//
// Promises: an event looks like one because of its kind, which the hub sets; a message never looks like one, whatever
// is written in it.

import { avatar, beginning, linked, make, tint } from "./dom.js";
import { say, timeOf } from "./words.js";

const TOGETHER_MS = 5 * 60_000;

/** What a message says, as text. */
export function textOf(message) {
  if (message.text !== undefined) return message.text;
  if (message.json !== undefined) return JSON.stringify(message.json, null, 2);
  return say("binary", { n: Math.floor(((message.base64 ?? "").length * 3) / 4) });
}

/** The row of a message or an event of a room; `verbs` are what can be done with it. */
export function rowOf(room, message, verbs) {
  return message.kind === "message" ? messageRow(room, message, verbs) : eventRow(message);
}

function eventRow(message) {
  const { kind, seq, stamp } = message;
  const about = { name: message.name };
  // What the hub itself says is about somebody else.
  if (kind === "gone" || kind === "renamed") Object.assign(about, message.json);
  const row = make("li", { className: "event", dataset: { kind, seq, stamp }, attributes: { tabindex: "-1" } });
  row.append(make("span", { text: say(kind, about) }), whenOf(message));
  return row;
}

function messageRow(room, message, verbs) {
  const { kind, seq, stamp, member, name } = message;
  const depth = Math.min(room.depth(message), 4);
  const row = make("li", {
    className: member === room.member ? "message own" : "message",
    dataset: { kind, seq, stamp, member, name, depth, at: message.at },
    attributes: { tabindex: "-1" },
  });
  if (message.answers) {
    row.dataset.answers = message.answers;
    row.append(quoteOf(room, message, verbs));
  }
  const nick = make("button", { className: "nick", text: name, type: "button", tabIndex: -1 });
  if (member !== room.member) {
    nick.title = say("private_with", { name });
    nick.onclick = () => verbs.talkWith(name);
  }
  row.append(avatar(name), make("p", { className: "head" }, tint(nick, name), whenOf(message)), bodyOf(message));
  row.append(actionsOf(message, verbs));
  return row;
}

function bodyOf(message) {
  const body = make("p", { className: message.text === undefined ? "text data" : "text" });
  body.append(...linked(textOf(message)));
  return body;
}

function whenOf(message) {
  return make("time", { text: timeOf(message.at), dateTime: message.at, title: `${message.stamp} · ${message.seq}` });
}

function quoteOf(room, message, verbs) {
  const answered = room.byStamp.get(message.answers);
  const quote = make("button", { className: "quote", type: "button", tabIndex: -1 });
  if (answered) {
    const name = make("strong", { text: answered.name });
    quote.append(tint(name, answered.name), ` ${beginning(textOf(answered))}`);
    quote.onclick = () => verbs.goTo(answered.stamp);
  } else {
    quote.append(say("older_answer"));
    quote.disabled = true;
  }
  return quote;
}

function actionsOf(message, verbs) {
  const answer = make("button", { type: "button", text: say("answer"), onclick: () => verbs.answer(message) });
  const mark = make("button", { type: "button", text: say("concurrent"), onclick: () => verbs.mark(message) });
  return make("div", { className: "actions" }, answer, mark);
}

/** Whether a row only goes on with what the row before it began: same person, a moment later, no quote. */
export function isContinued(row, before) {
  if (!before || row.dataset.kind !== "message" || before.dataset.kind !== "message") return false;
  if (row.dataset.answers && row.dataset.answers !== before.dataset.answers) return false;
  return (
    row.dataset.member === before.dataset.member &&
    row.dataset.name === before.dataset.name &&
    row.dataset.depth === before.dataset.depth &&
    Date.parse(row.dataset.at) - Date.parse(before.dataset.at) < TOGETHER_MS
  );
}

/** A line that waits. */
export function waitingRow(line, room, { isHere, name, why, retry, discard }) {
  const row = make("li", { className: "message own waiting", dataset: { id: line.id } });
  const answered = line.answers ? room.byStamp.get(line.answers) : null;
  if (answered) row.append(make("span", { className: "quote", text: `${answered.name} ${beginning(textOf(answered))}` }));
  const state = make("span", { className: "line-state" });
  const head = make("p", { className: "head" }, tint(make("span", { className: "nick", text: name }), name), state);
  row.append(avatar(name), head, make("p", { className: "text", text: line.text }));
  if (!line.why) {
    state.textContent = say(isHere ? "sending" : "waiting");
    return row;
  }
  row.classList.add("refused");
  state.textContent = say("not_sent", { why });
  const again = make("button", { type: "button", text: say("retry"), onclick: retry });
  row.append(make("div", { className: "actions" }, again, make("button", { type: "button", text: say("discard"), onclick: discard })));
  return row;
}
