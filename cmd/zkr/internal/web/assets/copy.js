// Buttons that copy the path or the command before them, and a key for the path of the
// selected item. Without this script the texts can be selected.
"use strict";
(() => {
  // pathOf is the path that a link is about: its text may be cut, or have escaped characters.
  const pathOf = (href) => href && new URL(href, location.href).searchParams.get("path");
  const textBefore = (button) => {
    const e = button.previousElementSibling;
    return pathOf(e.getAttribute("href")) ?? e.textContent;
  };
  const write = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { /* a page of another machine over plain HTTP has no clipboard: the former way */ }
    const before = document.activeElement;
    const area = document.createElement("textarea");
    area.className = "unseen";
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return done;
  };
  let shown = 0; // the only timer
  const copy = async (text, button) => {
    const done = await write(text);
    const said = document.querySelector("#said");
    clearTimeout(shown);
    for (const e of document.querySelectorAll(".copied")) e.classList.remove("copied");
    if (done) button?.classList.add("copied");
    said.textContent = done ? `Copied ${text.slice(0, 200)}` : "Not copied: select the text instead";
    said.classList.toggle("failed", !done);
    shown = setTimeout(() => {
      button?.classList.remove("copied");
      said.classList.remove("failed");
      said.textContent = "";
    }, 2000);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button.copy");
    if (button) copy(textBefore(button), button);
  });
  window.live.keys.c = () => {
    const item = document.querySelector("main .selected"), crumbs = document.querySelector("main .crumbs a:last-of-type");
    const path = pathOf(item?.dataset.href ?? (item?.querySelector("a[href]") ?? crumbs)?.getAttribute("href"));
    if (!path) return false;
    copy(path, null);
  };
})();
