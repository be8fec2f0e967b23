// Which of two messages was first, if one was: the algorithm of the hub's own history (pregon/causal/history.py).
//
// Keeps the messages of a room with what each depended on immediately. All the rest follows: a message is before another
// if there is a way back to it. What is not here is said to be forgotten, never guessed.
//
// Promises:
// - Messages are added in the order of the room's log, without gaps; then every answer is exact, however few of the
//   newest messages are here: what was said before the older of two cannot follow from it.
// - At most `messagesMax` messages are kept.

export const SAME = "same";
export const BEFORE = "before";
export const AFTER = "after";
export const CONCURRENT = "concurrent";
export const FORGOTTEN = "forgotten";

/** A stamp such as "3:17": the member and the number of its message. */
export function splitStamp(stamp) {
  const colon = stamp.indexOf(":");
  return [Number(stamp.slice(0, colon)), Number(stamp.slice(colon + 1))];
}

export class History {
  #messagesMax;
  #known = new Map(); // Of each stamp, in the order of the log: its place, and what it depended on immediately.
  #count = 0;

  constructor(messagesMax = 10_000) {
    this.#messagesMax = messagesMax;
  }

  get size() {
    return this.#known.size;
  }

  /** A message that comes next in the log; the oldest one may be forgotten for it. */
  add(stamp, after) {
    if (this.#known.size >= this.#messagesMax) this.#known.delete(this.#known.keys().next().value);
    this.#count += 1;
    this.#known.set(stamp, { place: this.#count, after: after.map(splitStamp) });
  }

  /** How `one` stands to `other`. */
  relation(one, other) {
    if (one === other) return SAME;
    const [member, number] = splitStamp(one);
    const [otherMember, otherNumber] = splitStamp(other);
    if (member === otherMember) return number < otherNumber ? BEFORE : AFTER;
    const first = this.#known.get(one);
    const second = this.#known.get(other);
    if (!first || !second) return FORGOTTEN;
    const isBefore = first.place < second.place;
    const [cause, effect] = isBefore ? [one, other] : [other, one];
    const past = this.#walkBack(effect, Math.min(first.place, second.place));
    const [causeMember, causeNumber] = splitStamp(cause);
    if ((past.get(causeMember) ?? 0) >= causeNumber) return isBefore ? BEFORE : AFTER;
    return CONCURRENT;
  }

  /** The messages that neither caused this one nor follow from it, in the order of the log. */
  concurrentWith(stamp) {
    const chosen = this.#known.get(stamp);
    if (!chosen) return [];
    const past = this.#walkBack(stamp, 0);
    const [member, number] = splitStamp(stamp);
    const follows = new Map([[member, number]]);
    const found = [];
    for (const [other, { place, after }] of this.#known) {
      const [otherMember, otherNumber] = splitStamp(other);
      if (place < chosen.place) {
        if (otherNumber > (past.get(otherMember) ?? 0)) found.push(other);
      } else if (isReached(otherMember, after, follows)) {
        if (!follows.has(otherMember)) follows.set(otherMember, otherNumber);
      } else {
        found.push(other);
      }
    }
    return found;
  }

  /** What a message follows from, as the last message of each member; nothing from before a place is looked at. */
  #walkBack(stamp, place) {
    const reached = new Map();
    const ahead = this.#causesOf(stamp);
    while (ahead.length) {
      const [member, number] = ahead.pop();
      const known = reached.get(member) ?? 0;
      if (number <= known) continue;
      reached.set(member, number);
      this.#runBack(member, number, known, place, ahead);
    }
    return reached;
  }

  /** What a member's messages followed from, from this one back to one that is known, or was here before a place. */
  #runBack(member, number, known, place, ahead) {
    for (; number > known; number -= 1) {
      const found = this.#known.get(`${member}:${number}`);
      if (!found || found.place <= place) return;
      ahead.push(...found.after);
    }
  }

  #causesOf(stamp) {
    const found = this.#known.get(stamp);
    if (!found) return [];
    const [member, number] = splitStamp(stamp);
    return number > 1 ? [...found.after, [member, number - 1]] : [...found.after];
  }
}

/** Whether a message is one of these members' later ones, or follows from one at once. */
function isReached(member, after, since) {
  return since.has(member) || after.some(([one, number]) => (since.get(one) ?? number + 1) <= number);
}
