// Around the conversation: the rooms, with what is unread in each; what the open one is called; and who is in it.

import { avatar, byId, make, tint } from "./dom.js";
import { currentLanguage, say } from "./words.js";

/** The rooms, and which is open. */
export function showRooms(rooms, open, choose) {
  const all = [...rooms.values()];
  const byTitle = (one, other) => one.title.localeCompare(other.title);
  const shared = all.filter((room) => !room.isPrivate).sort(byTitle);
  const pairs = all.filter((room) => isWanted(room, open)).sort(byTitle);
  fill(byId("room-list"), shared, open, choose);
  fill(byId("private-list"), pairs, open, choose);
  byId("no-rooms").hidden = shared.length > 0;
  byId("private-title").hidden = !pairs.length;
  const elsewhere = all.reduce((sum, room) => sum + (room === open ? 0 : room.unread), 0);
  byId("elsewhere").hidden = !elsewhere;
  const unread = elsewhere + (open?.unread ?? 0);
  document.title = `${unread ? `(${unread}) ` : ""}${open ? `${open.title} · ` : ""}Pregón`;
}

/** A private room is shown when something was said in it, or when I opened it myself; until I hide it. */
function isWanted(room, open) {
  return room.isPrivate && (room === open || room.isOpened || (room.hasWords && room.lastSeq > room.hiddenSeq));
}

function fill(list, rooms, open, choose) {
  const rows = rooms.map((room) => {
    const button = make("button", { type: "button", dataset: { room: room.name }, onclick: () => choose(room) });
    button.append(room.isPrivate ? avatar(room.title) : make("span", { className: "hash", text: "#", ariaHidden: "true" }));
    button.append(make("span", { className: "name", text: room.title }));
    if (room === open) button.setAttribute("aria-current", "true");
    if (room.unread) {
      const badge = make("span", { className: "badge", text: room.unread > 99 ? "99+" : String(room.unread) });
      badge.setAttribute("aria-label", say("unread", { n: room.unread }));
      button.append(badge);
    }
    return make("li", {}, button);
  });
  list.replaceChildren(...rows);
}

/** What the open room is called, and what can be done with it as a whole. */
export function showHeading(room) {
  byId("title").textContent = room ? room.title : say("rooms");
  byId("subtitle").textContent = room ? subtitleOf(room) : "";
  if (!room) return;
  byId("title").dataset.kind = room.isPrivate ? "private" : "room";
  const leave = byId("leave");
  leave.title = leave.ariaLabel = say(room.isPrivate ? "hide" : "leave");
  const diagram = byId("diagram");
  // A private conversation is drawn only for who shows a token, which a link cannot.
  diagram.hidden = room.isPrivate;
  diagram.href = `/groups/${encodeURIComponent(room.name)}/diagram?lang=${currentLanguage()}`;
}

function subtitleOf(room) {
  if (room.isPrivate) return say("private_room");
  const here = [...room.members.values()].filter((one) => one.is_here || one.member === room.member);
  return say("people_here", { n: here.length });
}

/** Who is in the open room: first who is here. */
export function showMembers(room, talkWith) {
  const members = room ? [...room.members.values()] : [];
  members.sort((one, other) => Number(other.is_here) - Number(one.is_here) || one.name.localeCompare(other.name));
  byId("people-count").textContent = members.length ? String(members.length) : "";
  const rows = members.map((one) => {
    const isMe = one.member === room.member;
    const isHere = isMe || one.is_here;
    const button = make("button", { type: "button", dataset: { name: one.name }, disabled: isMe });
    if (!isMe) {
      button.title = say("private_with", { name: one.name });
      button.onclick = () => talkWith(one.name);
    }
    const mark = make("span", { className: isHere ? "presence here" : "presence", role: "img" });
    mark.ariaLabel = say(isHere ? "here" : "away");
    button.append(make("span", { className: "face" }, avatar(one.name), mark));
    button.append(tint(make("span", { className: "name", text: one.name }), one.name));
    if (isMe) button.append(make("span", { className: "hint", text: say("you") }));
    return make("li", { className: isHere ? "" : "away" }, button);
  });
  byId("member-list").replaceChildren(...rows);
}

/** Who I am. */
export function showSelf(name) {
  byId("self-name").textContent = name;
  byId("self-avatar").replaceWith(Object.assign(avatar(name), { id: "self-avatar" }));
}
