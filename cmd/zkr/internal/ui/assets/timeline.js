// The time line of a page about the past: dragging, playing, and two keys. live.js shows the
// moments; this script only says which.
"use strict";
(() => {
  const line = () => document.querySelector("#line");
  const play = () => document.querySelector("#play");
  const moment = () => document.querySelector("#moment")?.dataset ?? {};
  let dragged = false, pause = 0, playing = false; // pause: the only timer

  const show = (at) => {
    const params = new URLSearchParams(location.search);
    params.set("at", at);
    params.delete("page");
    window.live.show(params);
  };
  const timeOf = (input) => new Date(Number(input.dataset.from) + Number(input.value));
  const describe = (input) => input.setAttribute("aria-valuetext", timeOf(input).toLocaleString());

  // follow sets what depends on the moment that is shown.
  const follow = () => {
    const { at, offset } = moment();
    const input = line();
    if (input && offset !== undefined && !dragged) {
      input.value = offset;
      describe(input);
    }
    if (at) {
      document.title = document.title.replace(/^\S+ · (?=.* · )|^/, `${at} · `);
      const brand = document.querySelector(".brand");
      brand.href = `/?at=${encodeURIComponent(at)}`;
      for (const e of document.querySelectorAll("header input[name=at]")) e.value = at;
    }
  };

  const stop = () => {
    clearTimeout(pause);
    playing = false;
    play()?.setAttribute("aria-pressed", "false");
    if (play()) play().textContent = "Play";
  };
  const next = () => {
    if (moment().next) show(moment().next);
    else stop();
  };
  const toggle = () => {
    if (playing) return stop();
    clearTimeout(pause);
    playing = true;
    play()?.setAttribute("aria-pressed", "true");
    if (play()) play().textContent = "Pause";
    next();
  };

  document.addEventListener("input", (event) => {
    if (event.target !== line()) return;
    stop();
    dragged = true;
    describe(event.target);
    pause = setTimeout(() => show(timeOf(event.target).toISOString().replace(/\.?0*Z$/, "Z")), 80);
  });
  // let go: the line stands where the page is, or will be when the last moment is shown.
  const release = (event) => { if (event.target === line()) dragged = false; };
  document.addEventListener("change", release);
  document.addEventListener("pointercancel", (event) => {
    release(event);
    if (event.target !== line()) return;
    clearTimeout(pause);
    follow();
  });
  document.addEventListener("click", (event) => { if (event.target === play()) toggle(); });
  document.addEventListener("live:shown", () => {
    follow();
    clearTimeout(playing ? pause : 0);
    if (playing) pause = setTimeout(next, 1000);
  });
  document.addEventListener("live:cut", () => {
    stop();
    dragged = false;
    follow();
  });
  window.live.keys["["] = () => moment().previous && show(moment().previous);
  window.live.keys["]"] = () => moment().next && show(moment().next);
  window.live.keys.p = toggle;
  follow();
})();
