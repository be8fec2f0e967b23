// What is asked of the hub over plain HTTP: the list of rooms, older messages, and to be forgotten.

import { recall } from "./memory.js";

const PAGE = 100;
const PAGES_MAX = 20;

async function ask(path, options = {}) {
  const headers = { "Pregon-Participant": recall("token") };
  if (recall("key")) headers.Authorization = `Bearer ${recall("key")}`;
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok) throw await answer.json();
  return answer.status === 204 ? null : answer.json();
}

/** Whether the hub wants a key, or another one; not known, so false, while there is no hub. */
export async function isKeyWanted() {
  try {
    const headers = recall("key") ? { Authorization: `Bearer ${recall("key")}` } : {};
    return (await fetch("/v1/groups?max=1", { headers })).status === 401;
  } catch {
    return false;
  }
}

/** The rooms of the hub that I may see, at most a few thousand. */
export async function listRooms() {
  const rooms = [];
  let cursor = "";
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const found = await ask(`/v1/groups?max=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    rooms.push(...found.items);
    if (!found.next) break;
    cursor = found.next;
  }
  return rooms;
}

/** The messages right before a number of a room's log, all of them from the first that comes on. */
export async function readBefore(room, seq, oldestSeq) {
  const messages = [];
  let after = Math.max(oldestSeq - 1, seq - 1 - PAGE);
  for (let page = 0; after < seq - 1 && page < PAGES_MAX; page += 1) {
    const query = `after=${after}&max=${seq - 1 - after}`;
    const found = await ask(`/v1/groups/${encodeURIComponent(room)}/messages?${query}`);
    if (!found.messages.length) break;
    messages.push(...found.messages);
    after = found.messages.at(-1).seq;
  }
  return messages;
}

/** Leave every room, and free the name. */
export const retire = () => ask("/v1/participants/me", { method: "DELETE" });
