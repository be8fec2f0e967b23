// What the hub refuses, in the reader's words. Codes are the hub's; what has no words of ours is said in the hub's own.

import { say } from "./words.js";

/** Why a name was refused. */
export function whyNoName({ code, message }, name) {
  if (code === "already_exists") return say("e_name_taken", { name });
  if (code === "bad_name" || code === "bad_request") return say("e_name_bad", { name });
  return whyNot({ code, message });
}

/** Why a room could not be entered, or made if it is not there. */
export function whyNoRoom({ code, message }, name, isThere) {
  if (code === "bad_name") return say("e_room_bad", { name });
  if (code === "bad_request" && !/^[A-Za-z0-9][\w.-]*$/.test(name)) return say("e_room_bad", { name });
  if (code === "forbidden") return say(isThere ? "e_room_forbidden" : "e_room_not_made", { name });
  if (code === "not_found") return say("e_room_missing", { name });
  return whyNot({ code, message });
}

/** Why a line was not sent; goes into a sentence. */
export function whyNotSent({ code, why }) {
  if (code === "not_a_member" || code === "not_found") return say("e_not_a_member");
  if (code === "too_large") return say("e_too_large");
  if (code === "bad_request" && /read what is new first/.test(why)) return say("e_behind");
  return why;
}

/** Why anything else was not done. */
export function whyNot({ code, message }) {
  return say(code === "limit_reached" ? "e_limit" : "e_other", { message });
}
