// Random names that nobody else will think of.

/** So many random bytes, written in hexadecimal. */
export function randomHex(bytes) {
  // randomUUID is only there on secure origins, and a hub may be reached over plain HTTP.
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (one) => one.toString(16).padStart(2, "0")).join("");
}
