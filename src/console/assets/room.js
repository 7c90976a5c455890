"use strict";
// Keeps the page of a room up to date and sends what is written without leaving it. The page works without this script; what
// is shown is always made by the server, and put in its place here by its id. Text of people is never made into markup here.
(() => {
  const main = document.querySelector("main.room");
  if (!main) return;
  const byId = (id) => document.getElementById(id);
  const scroll = document.querySelector(".scroll");
  const log = byId("log");
  const newer = byId("newer");
  // Older pieces leave the page; they are a link away.
  const MOST = { log: 400, decisions: 200 };

  // ---- Pieces of the page

  let follow = false;
  let pinned = true;
  const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  const toEnd = () => { scroll.scrollTop = scroll.scrollHeight; newer.hidden = true; pinned = true; };

  function put(pieces) {
    const stay = atEnd();
    let added = false;
    for (const html of pieces) {
      const parsed = new DOMParser().parseFromString(html, "text/html");
      for (const piece of [...parsed.body.children]) added = place(document.adoptNode(piece)) || added;
    }
    if (stay || (added && follow)) { toEnd(); follow = false; } else if (added) newer.hidden = false;
    for (const id of ["log", "decisions"]) {
      while (byId(id).children.length > MOST[id] && (id !== "log" || stay)) {
        (id === "log" ? byId(id).firstElementChild : byId(id).lastElementChild).remove();
      }
    }
  }

  // True if a line was added at the end.
  function place(piece) {
    wind(piece);
    const old = byId(piece.id);
    if (old) { renew(old, piece); return false; }
    const list = byId(piece.dataset.in);
    if (!list) return false;
    byId(`no-${list.id === "log" ? "lines" : list.id}`)?.remove();
    const n = Number(piece.dataset.n);
    const newestFirst = list.id === "decisions";
    let after = newestFirst ? list.firstElementChild : list.lastElementChild;
    if (newestFirst) {
      while (after && Number(after.dataset.n) > n) after = after.nextElementSibling;
      list.insertBefore(piece, after);
      return false;
    }
    while (after && Number(after.dataset.n) > n) after = after.previousElementSibling;
    // A change of a line that is older than what is shown.
    if (!after && list.firstElementChild) return false;
    list.insertBefore(piece, after ? after.nextElementSibling : null);
    return true;
  }

  function renew(old, piece) {
    if (old.classList.contains("day")) return;
    if (old.hasAttribute("data-keep")) {
      if (old.textContent !== piece.textContent) old.replaceChildren(...piece.childNodes);
      return;
    }
    if (old.classList.contains("joined")) piece.classList.add("joined");
    const focused = old.contains(document.activeElement);
    if (old.querySelector("details[open]")) piece.querySelector("details")?.setAttribute("open", "");
    const [was, is] = [old.querySelector(".text"), piece.querySelector(".text")];
    if (is) for (const quote of document.querySelectorAll(`[data-quote="${piece.id}"]`)) quote.textContent = extract(is);
    if (was && is && was.outerHTML === is.outerHTML && old.querySelector(".acts") && piece.querySelector(".acts")) {
      // Only reactions changed: the line itself stays, or it would be read aloud once more.
      old.querySelector(".acts").replaceWith(piece.querySelector(".acts"));
      piece = old;
    } else old.replaceWith(piece);
    if (focused) piece.querySelector("summary, a")?.focus();
  }

  function extract(text) {
    if (text.classList.contains("deleted")) return "(deleted)";
    const words = [...text.textContent.trim().replace(/\s+/g, " ")];
    return words.length > 120 ? `${words.slice(0, 120).join("")}…` : words.join("");
  }

  // ---- Clocks that run

  const clocks = (root) => [...root.querySelectorAll("[data-left], [data-spent]"), ...(root.matches?.("[data-left], [data-spent]") ? [root] : [])];
  function wind(root) {
    for (const clock of clocks(root)) {
      clock.end = performance.now() + (clock.dataset.left === undefined ? -Number(clock.dataset.spent) : Number(clock.dataset.left));
    }
  }
  function words(ms) {
    if (ms <= 0) return "any moment";
    if (ms < 10000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
    if (ms < 120000) return `${Math.floor(ms / 1000)} s`;
    return `${Math.floor(ms / 60000)}:${String(Math.floor((ms % 60000) / 1000)).padStart(2, "0")} min`;
  }
  function tick() {
    if (document.hidden) return;
    for (const clock of clocks(document)) {
      const left = clock.end - performance.now();
      clock.textContent = words(clock.dataset.left === undefined ? Math.max(1, -left) : left);
    }
  }
  wind(document);
  setInterval(tick, matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100);

  // ---- The stream of changes

  let source = null;
  let last = main.dataset.after;
  let heard = 0;
  let wait = 1000;
  function open() {
    // A browser keeps six connections to one server: tabs that nobody looks at must leave them to the others.
    if (source || document.hidden || !main.dataset.events) return;
    source = new EventSource(`${main.dataset.events}&after=${last}`);
    heard = performance.now();
    source.addEventListener("put", (event) => {
      heard = performance.now();
      wait = 1000;
      put(JSON.parse(event.data));
      last = event.lastEventId || last;
    });
    source.addEventListener("beat", () => { heard = performance.now(); });
    source.onerror = () => {
      byId("trouble").textContent = "The connection to Parlor is lost; it is tried again by itself.";
      // Otherwise the browser itself tries again, and says what it saw last.
      if (source.readyState !== EventSource.CLOSED) return;
      close();
      setTimeout(open, wait);
      wait = Math.min(wait * 2, 10000);
    };
  }
  function close() { source?.close(); source = null; }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) setTimeout(() => { if (document.hidden) close(); }, 1000);
    else open();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  setInterval(() => { if (source && performance.now() - heard > 40000) { close(); open(); } }, 5000);
  open();

  // ---- Reading

  if (byId(location.hash.slice(1))?.matches("li")) pinned = false; else toEnd();
  scroll.addEventListener("scroll", () => { pinned = atEnd(); if (pinned) newer.hidden = true; }, { passive: true });
  // When the message box grows, or a phone's keyboard comes, the newest line stays in sight.
  new ResizeObserver(() => { if (pinned) toEnd(); }).observe(scroll);
  newer.addEventListener("click", () => { toEnd(); scroll.focus(); });
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
    const link = event.target.closest?.("a.to, .quote a");
    const line = link && byId(new URL(link.href).hash.slice(1));
    if (!line) return;
    event.preventDefault();
    line.scrollIntoView({ block: "center" });
    line.tabIndex = -1;
    line.focus({ preventScroll: true });
  });

  // ---- Writing

  const form = byId("composer");
  const box = byId("text");
  if (!form.matches("form")) return;
  const field = (name) => form.elements.namedItem(name);
  const say = (text) => { byId("said").textContent = text; };
  const freshId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
  const place_ = `parlor ${location.pathname} ${field("as").value}`;
  // About three minutes: longer than a database needs to come back, short enough to be told.
  const TRIES = 40;
  let sending = false;
  let stopped = false;
  let failed = false;

  async function post(url, body) {
    try {
      const response = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
      if (response.ok) return { ok: true };
      const told = await response.json().catch(() => ({}));
      return { ok: false, error: told.error || `Parlor answered ${response.status}.`, again: told.again === true };
    } catch {
      return { ok: false, error: "Parlor cannot be reached.", again: true };
    }
  }

  function save() {
    const kept = { sending };
    for (const name of ["text", "client_id", "reply_to", "edit_of"]) kept[name] = field(name).value;
    kept.what = byId("target").hidden ? null : [byId("target-what").textContent, byId("target-text").textContent];
    try {
      if (kept.text) sessionStorage.setItem(place_, JSON.stringify(kept)); else sessionStorage.removeItem(place_);
    } catch { /* A full or forbidden store only means that a reload forgets the text. */ }
  }

  function aim(what, text, name, pid) {
    field("reply_to").value = "";
    field("edit_of").value = "";
    if (name) field(name).value = pid;
    byId("target-what").textContent = what;
    byId("target-text").textContent = text;
    byId("target").hidden = !name;
    save();
  }

  function empty() {
    box.value = "";
    field("client_id").value = freshId();
    failed = false;
    aim("", "", null, "");
    grow();
  }

  // The same client id is sent until it is stored: the server takes it once, however often it comes.
  async function send() {
    if (sending || !box.value.trim()) return;
    sending = true;
    stopped = false;
    box.readOnly = true;
    save();
    const body = new URLSearchParams(new FormData(form));
    for (let tries = 1; ; tries += 1) {
      const result = await post(form.action, body);
      if (result.ok) { say(""); follow = true; empty(); break; }
      if (!result.again || stopped || tries >= TRIES) {
        failed = true;
        say(`${result.error} ${result.again ? "Your text is kept; press Send to try again." : ""}`);
        break;
      }
      say(`${result.error} Your text is kept and sent again by itself (try ${tries + 1}; Escape stops).`);
      await pause(Math.min(500 * 2 ** (tries - 1), 5000));
    }
    sending = false;
    box.readOnly = false;
    save();
  }

  let typed = -Infinity;
  function typing() {
    if (!box.value.trim() || performance.now() - typed < 3000) return;
    typed = performance.now();
    // Losing one is harmless.
    post(form.action.replace(/lines$/, "typing"), new URLSearchParams({ as: field("as").value }));
  }

  const sizes = CSS.supports("field-sizing", "content");
  function grow() {
    if (sizes) return;
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight + 2}px`;
  }

  form.addEventListener("submit", (event) => { event.preventDefault(); send(); });
  box.addEventListener("input", () => {
    // Another text than the one that failed is another line.
    if (failed) { failed = false; field("client_id").value = freshId(); say(""); }
    grow();
    save();
    typing();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  function leave() {
    const edited = field("edit_of").value !== "";
    if (sending) stopped = true; else if (edited) empty(); else aim("", "", null, "");
    box.focus();
  }
  byId("target-off").addEventListener("click", (event) => { event.preventDefault(); leave(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); return; }
    if (sending || !byId("target").hidden) leave();
  });

  log.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-reply], a[data-edit]");
    if (!link || sending) return;
    event.preventDefault();
    const line = link.closest("li");
    const name = line.querySelector(".who b").textContent;
    const text = extract(line.querySelector(".text"));
    if (link.hasAttribute("data-edit")) {
      box.value = line.dataset.raw;
      aim("Editing your line", text, "edit_of", line.dataset.pid);
    } else aim(`Replying to ${name}`, text, "reply_to", line.dataset.pid);
    link.closest("details").open = false;
    grow();
    box.focus();
  });

  log.addEventListener("submit", async (event) => {
    event.preventDefault();
    const acts = event.target;
    const body = new URLSearchParams(new FormData(acts, event.submitter));
    body.set("client_id", freshId());
    const menu = acts.querySelector("details");
    if (menu.open) { menu.open = false; menu.querySelector("summary").focus(); }
    for (let tries = 1; ; tries += 1) {
      const result = await post(acts.action, body);
      if (result.ok) { say(""); return; }
      say(result.error);
      if (!result.again || tries >= 8) return;
      await pause(Math.min(500 * 2 ** (tries - 1), 5000));
    }
  });

  // What was written before a reload, and what was on its way.
  try {
    const kept = JSON.parse(sessionStorage.getItem(place_));
    if (kept && !box.value) {
      for (const name of ["text", "client_id", "reply_to", "edit_of"]) field(name).value = kept[name];
      if (kept.what) {
        [byId("target-what").textContent, byId("target-text").textContent] = kept.what;
        byId("target").hidden = false;
      }
      grow();
      if (kept.sending) send();
    }
  } catch { /* Nothing usable was kept. */ }
  if (matchMedia("(pointer: fine)").matches) box.focus();
})();
