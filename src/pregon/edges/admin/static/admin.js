// What the pages need of a script: the viewer's zone, a beat for what is live, copying, and small comforts.
// Everything else works without it.
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes(`pregon_zone=${encodeURIComponent(zone)}`)) {
  document.cookie = `pregon_zone=${encodeURIComponent(zone)}; Path=/admin; Max-Age=31536000; SameSite=Lax`;
  // Times on this page were written for another zone: the next one has them right, and so has this one at once.
  if (document.querySelector("time")) location.reload();
}

// What is live listens to this beat; a page that nobody looks at is still.
setInterval(() => {
  if (!document.hidden) document.body.dispatchEvent(new CustomEvent("beat"));
}, 3000);

// A wait that is shown as a clock goes on between two beats.
setInterval(() => {
  for (const clock of document.querySelectorAll("[data-left-ms]")) {
    const leftS = Math.round(Math.max(0, (clock.dataset.leftMs -= 1000)) / 1000);
    const [hours, minutes, seconds] = [Math.floor(leftS / 3600), Math.floor(leftS / 60) % 60, leftS % 60];
    const twoDigits = (count) => String(count).padStart(2, "0");
    clock.textContent = hours ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds)}` : `${minutes}:${twoDigits(seconds)}`;
  }
}, 1000);

// A live part that cannot be had says since when it is old.
document.body.addEventListener("htmx:sendError", () => document.body.classList.add("stale"));
document.body.addEventListener("htmx:afterOnLoad", () => document.body.classList.remove("stale"));
// Do not take the place away from under somebody who is in it.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const at = event.detail.target, active = document.activeElement;
  if (at.dataset.live === undefined) return;
  const isInIt = at.contains(active) && active.matches("input:not([type=checkbox]), select, textarea, :focus-visible");
  if (isInIt || at.querySelector("input:checked")) event.detail.shouldSwap = false;
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy");
    }
    button.textContent = button.dataset.done;
  }
  const print = event.target.closest("[data-print]");
  if (print) window.print();
  const all = event.target.closest("input[data-all]");
  if (all) {
    for (const box of document.querySelectorAll(`input[name="${all.dataset.all}"]`)) box.checked = all.checked;
  }
  // A menu on a phone closes when one taps beside it.
  const menu = document.querySelector(".menu[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
});

// Where a name must be written before something is deleted, the button waits for it.
document.addEventListener("input", (event) => {
  const field = event.target.closest("input[data-must-be]");
  if (field) field.form.querySelector("button").disabled = field.value !== field.dataset.mustBe;
});
for (const field of document.querySelectorAll("input[data-must-be]")) {
  field.form.querySelector("button").disabled = field.value !== field.dataset.mustBe;
}

// Rows of a table whose first link is the row's own may be clicked anywhere.
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button, input, label, select") && !String(getSelection())) location.href = row.dataset.href;
});

// What must be scrolled to be read can be reached by the keyboard.
function reachScrolled() {
  for (const one of document.querySelectorAll(".sheet, pre")) {
    if (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1) one.tabIndex = 0;
  }
}
reachScrolled();
document.body.addEventListener("htmx:afterSettle", reachScrolled);
addEventListener("resize", reachScrolled);
