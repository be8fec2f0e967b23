// Shows what caused a message: who points at one, or reaches it with the Tab key, sees it and its causes, the rest faint.
// Written without the characters that mean something in XML, because it stands as it is both in SVG and in HTML.
(() => {
  "use strict";
  const drawing = document.querySelector("svg.spacetime");
  if (!drawing) return;
  const messages = new Map(Array.from(drawing.querySelectorAll("g.m"), (one) => [one.dataset.stamp, one]));
  const rows = new Map(Array.from(document.querySelectorAll("tr[data-stamp]"), (one) => [one.dataset.stamp, one]));
  let kept = "";

  const causesOf = (stamp) => {
    const found = new Set();
    const ahead = [stamp];
    while (ahead.length) {
      const one = messages.get(ahead.pop());
      for (const cause of one ? one.dataset.after.split(" ") : []) {
        if (!cause || found.has(cause)) continue;
        found.add(cause);
        ahead.push(cause);
      }
    }
    return found;
  };

  const mark = (stamp, word) => {
    for (const one of [messages.get(stamp), rows.get(stamp)]) if (one) one.classList.add(word);
  };

  const show = (stamp) => {
    for (const one of [...messages.values(), ...rows.values()]) one.classList.remove("one", "cause", "near");
    drawing.classList.toggle("asked", messages.has(stamp));
    if (!messages.has(stamp)) return;
    mark(stamp, "one");
    for (const cause of causesOf(stamp)) mark(cause, "cause");
    for (const cause of messages.get(stamp).dataset.after.split(" ")) mark(cause, "near");
  };

  const listen = (one) => {
    const stamp = one.dataset.stamp;
    for (const kind of ["pointerenter", "focusin"]) one.addEventListener(kind, () => show(stamp));
    for (const kind of ["pointerleave", "focusout"]) one.addEventListener(kind, () => show(kept));
    one.addEventListener("click", () => {
      kept = kept === stamp ? "" : stamp;
      show(kept || stamp);
    });
  };
  for (const one of [...messages.values(), ...rows.values()]) listen(one);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show((kept = ""));
  });
})();
