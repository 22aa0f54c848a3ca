// Orders without reloading the page: the stream shows their effects, and a line that
// is read out shows why an order was refused.
"use strict";
(() => {
  const say = (text) => {
    const line = document.querySelector("#notice");
    if (line.textContent !== text) line.textContent = text;
  };
  const answered = async (answer) => {
    if (answer.ok) return "";
    const problem = await answer.json().catch(() => ({}));
    return problem.error || `${answer.status} ${answer.statusText}`;
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post") return;
    event.preventDefault();
    const button = form.querySelector("button");
    // A button that is disabled loses the focus.
    if (button.ariaDisabled) return;
    button.ariaDisabled = "true";
    const what = [button.textContent, form.closest("[data-node]")?.dataset.node].filter(Boolean).join(" ");
    fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), headers: { Accept: "application/json" } })
      .then(answered)
      .catch((problem) => `the page is not reached (${problem.message})`)
      .then((problem) => say(problem && `${what}: ${problem}`))
      .finally(() => { button.ariaDisabled = null; });
  });

  // A button with the focus may go when the table is redrawn: then the next button of
  // the same node gets the focus. live.js handles the buttons that stay.
  let last = null; // {button, node}
  const buttonOf = (target) => target.closest?.("td.orders button");
  document.addEventListener("focusin", (event) => {
    const button = buttonOf(event.target);
    last = button && { button, node: button.closest("[data-node]").dataset.node };
  });
  document.addEventListener("pointerdown", (event) => { if (!buttonOf(event.target)) last = null; });
  new MutationObserver(() => {
    if (!last || last.button.isConnected || document.activeElement !== document.body) return;
    const row = `tr[data-node="${CSS.escape(last.node)}"] td.orders button`;
    (document.querySelector(row) || document.querySelector("#add"))?.focus({ preventScroll: true });
  }).observe(document.querySelector("main"), { childList: true, subtree: true });
})();
