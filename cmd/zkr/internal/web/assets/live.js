// The active part of a page: updates, ages, the filter, and some keys. Without this
// script the page can still be read.
"use strict";
(() => {
  const body = document.body;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Ages: by the server's clock, as the page was written by it.
  let ahead = Date.now() - Number(body.dataset.now);
  const age = (ms) => {
    const s = Math.floor(Math.max(0, ms) / 1000);
    if (s < 60) return `${s}s`;
    if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
    if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor(s % 3600 / 60)}m`;
    return `${Math.floor(s / 86400)}d ${Math.floor(s % 86400 / 3600)}h`;
  };
  // Ages of an unknown state do not grow: ages in a block with a moment are relative
  // to the moment, and all ages stay while the server is silent.
  let heard = Date.now(), silent = 0; // when the server was last heard; since when it is silent, or 0
  const tick = (within) => {
    const now = (silent || Date.now()) - ahead;
    for (const e of all("time[data-ago]", within)) {
      const text = age(Number(e.closest("[data-asof]")?.dataset.asof ?? now) - Number(e.dataset.ago));
      if (e.textContent !== text) e.textContent = text;
    }
    if (silent) for (const e of all(".live")) e.dataset.silent = `: this is ${age(Date.now() - silent)} old`;
  };

  // The item that the keyboard has selected: a block, and the place in the block.
  let selected = null; // {key, index}
  const items = () => all("main [data-item]");
  const mark = (scroll) => {
    for (const e of all("main .selected")) e.classList.remove("selected");
    if (!selected) return null;
    const block = document.querySelector(`main [data-key="${CSS.escape(selected.key)}"]`);
    const item = block && all("[data-item]", block)[selected.index];
    if (!item) return null;
    item.classList.add("selected");
    if (scroll) item.scrollIntoView({ block: "nearest" });
    return item;
  };
  const step = (by) => {
    const list = items();
    if (!list.length) return;
    const at = list.indexOf(mark(false));
    const item = list[Math.max(0, Math.min(list.length - 1, at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by))];
    const block = item.closest("[data-key]");
    selected = { key: block.dataset.key, index: all("[data-item]", block).indexOf(item) };
    mark(true);
  };

  // Updates.
  const fill = (el, ref) => {
    const open = all("details[open][id]", el).map((d) => d.id);
    const focus = el.contains(document.activeElement) && document.activeElement;
    const again = focus && (focus.id ? "#" + CSS.escape(focus.id) : focus.getAttribute("href") && `[href="${CSS.escape(focus.getAttribute("href"))}"]`);
    const copying = focus ? all("button.copy", el).indexOf(focus) : -1;
    const fresh = el.dataset.hash === undefined;
    el.className = "block " + (ref.class || "");
    el.dataset.hash = ref.hash;
    el.innerHTML = ref.html; // written by the server's templates, which escape what is not theirs
    for (const id of open) el.querySelector("#" + CSS.escape(id))?.setAttribute("open", "");
    if (again) el.querySelector(again)?.focus({ preventScroll: true });
    if (copying >= 0) all("button.copy", el)[copying]?.focus({ preventScroll: true });
    if (!fresh && el.closest("main")) {
      void el.offsetWidth; // the animation starts again
      el.classList.add("changed");
    }
  };
  // apply brings a region up to date; false if something is missing for that.
  const apply = (name, list) => {
    const box = document.querySelector(`[data-region="${CSS.escape(name)}"]`);
    if (!box) return true;
    const have = new Map([...box.children].filter((e) => e.dataset.key !== undefined).map((e) => [e.dataset.key, e]));
    const wanted = new Set(list.map((ref) => ref.key));
    for (const [key, el] of have) if (!wanted.has(key)) el.remove();
    let at = box.firstElementChild;
    for (const ref of list) {
      let el = have.get(ref.key);
      if (!el) {
        el = document.createElement("div");
        el.dataset.key = ref.key;
      }
      if (el.dataset.hash !== ref.hash) {
        if (typeof ref.html !== "string") return false;
        fill(el, ref);
      }
      if (ref.asof) el.dataset.asof = ref.asof;
      else delete el.dataset.asof;
      if (el === at) at = at.nextElementSibling;
      else box.insertBefore(el, at);
    }
    return true;
  };

  // A press whose element is replaced before the release clicks nothing: while a pointer or
  // the space bar is down, updates wait.
  let pressed = false, waiting = [];
  const afterPress = (update) => pressed ? waiting.push(update) : update();
  const release = () => {
    pressed = false;
    setTimeout(() => { // the click comes behind the release
      if (pressed) return;
      const due = waiting;
      waiting = [];
      for (const update of due) update();
    });
  };
  addEventListener("pointerdown", () => { pressed = true; }, true);
  addEventListener("keydown", (event) => { pressed ||= event.key === " "; }, true);
  for (const end of ["pointerup", "pointercancel", "keyup"]) addEventListener(end, release, true);
  addEventListener("blur", release);
  // A release outside of the window may not be told.
  addEventListener("pointermove", (event) => { if (pressed && !event.buttons) release(); }, true);

  let source = null, retry = 0, failures = 0;
  let wanted = null; // the parameters that the page is to be shown with, until it is
  const close = () => {
    clearTimeout(retry);
    source?.close();
    source = null;
  };
  // connect begins a stream; have is the digest of what the page shows already.
  const connect = (have) => {
    close();
    if (!body.dataset.live || document.hidden) return;
    heard = Date.now();
    const params = new URLSearchParams(wanted ?? location.search);
    if (have) params.set("have", have);
    const own = new EventSource(body.dataset.live + "?" + params);
    source = own;
    const hear = () => {
      heard = Date.now();
      silent = 0;
      body.classList.remove("cut");
    };
    own.onopen = () => {
      failures = 0;
      hear();
      body.dataset.stream = "open";
    };
    own.addEventListener("alive", hear);
    const show = (update) => {
      if (own !== source) return;
      // Another server has taken this address: the head of the page is out of date.
      if (update.of !== body.dataset.of) return close(), location.reload();
      ahead = Date.now() - update.now;
      for (const [name, list] of Object.entries(update.regions)) {
        if (!apply(name, list)) return connect("");
      }
      if (wanted) history.replaceState(null, "", "?" + wanted);
      wanted = null;
      tick(document);
      mark(false);
      document.dispatchEvent(new Event("live:shown"));
      body.dataset.updates = String(Number(body.dataset.updates || 0) + 1);
    };
    own.addEventListener("update", (event) => {
      if (own !== source) return;
      hear();
      const update = JSON.parse(event.data);
      afterPress(() => show(update));
    });
    own.onerror = () => { if (own === source) lose(Date.now()); };
  };
  // lose ends a stream that was heard until then, and begins another stream a little
  // later.
  const lose = (then) => {
    close();
    wanted = null; // the page stays as it is
    document.dispatchEvent(new Event("live:cut"));
    body.dataset.stream = "cut";
    silent ||= then;
    if (++failures > 1) body.classList.add("cut");
    tick(document);
    retry = setTimeout(connect, Math.min(5000, 250 * 2 ** failures), "");
  };
  // The server sends a message every 15 seconds. A dead connection may stay open here
  // for long.
  setInterval(() => {
    if (source && Date.now() - heard > 40_000) lose(heard);
    else tick(document);
  }, 1000);
  connect(body.dataset.digest);
  // A browser has few connections for one server: a hidden page needs none.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return connect("");
    close();
    silent ||= Date.now();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => { if (event.persisted) connect(""); });

  // The filter, while the reader types.
  const filter = document.querySelector("#filter");
  let typed = 0;
  filter?.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => {
      const url = new URL(location.href);
      if (filter.value) url.searchParams.set("q", filter.value);
      else url.searchParams.delete("q");
      url.searchParams.delete("page");
      history.replaceState(null, "", url);
      wanted = null;
      if (body.dataset.live) connect("");
      else location.reload();
    }, 120);
  });

  // Light and dark.
  const root = document.documentElement;
  const swap = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("zkr-theme", root.dataset.theme); } catch { /* for this page only, then */ }
  };
  document.querySelector("#theme")?.addEventListener("click", swap);

  // Keys.
  const help = document.querySelector("#help");
  const toggle = () => {
    if (!help.open) return help.showModal();
    help.close();
    document.activeElement?.blur(); // its button has the focus a moment longer, and would take keys
  };
  document.querySelector("#keys")?.addEventListener("click", toggle);
  const pages = () => all("nav.side a[href]");
  const actions = {
    "/": () => { filter?.focus(); filter?.select(); },
    "j": () => step(1),
    "k": () => step(-1),
    "Enter": () => {
      const item = mark(false);
      const href = item && (item.dataset.href || item.querySelector("a[href]")?.getAttribute("href"));
      if (href) location.assign(href);
      return !!href;
    },
    "u": () => {
      const up = document.querySelector("a[rel=up]");
      if (up) up.click();
      else if (pages()[0]) location.assign(pages()[0].href);
    },
    "t": swap,
    "?": toggle,
    "Escape": () => { selected = null; mark(false); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches?.("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      if (event.key === "Enter" && event.target === filter) event.preventDefault(), filter.blur();
      return;
    }
    if (help?.open) {
      if (event.key === "?") event.preventDefault(), toggle();
      return;
    }
    if (event.key === "Enter" && event.target.matches?.("a, button, summary")) return;
    let done;
    if (/^[0-9]$/.test(event.key)) {
      const page = pages()[(Number(event.key) + 9) % 10];
      if (page) location.assign(page.href), done = true;
    } else if (Object.hasOwn(actions, event.key) && actions[event.key]) {
      done = actions[event.key]() !== false;
    }
    if (done) event.preventDefault();
  });
  // For further scripts of a page: show shows the page with other parameters, without loading it
  // again; the address follows when the page has. keys are the actions of keys.
  window.live = { show: (params) => { wanted = new URLSearchParams(params); connect(""); }, keys: actions };
  body.dataset.ready = "yes";
})();
