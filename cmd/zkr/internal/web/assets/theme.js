// Before anything is drawn: the reader's choice of light or dark, if there is one.
"use strict";
try {
  const chosen = localStorage.getItem("zkr-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* no storage: the system's choice */ }
document.documentElement.classList.add("js");
