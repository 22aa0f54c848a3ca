package ui_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
)

// contrasts is JavaScript that lists texts with too little contrast to the
// background: less than 4.5, or 3 for large texts, as defined by WCAG 2.
const contrasts = `(() => {
  const color = (text) => { const n = text.match(/[\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, k, i) => {
    const x = c[i] / 255;
    return sum + k * (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (e) => e ? over(color(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255, 1];
  const seen = new Map();
  for (const e of document.querySelectorAll("body, body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent.trim()).join("");
    if (!text || !e.checkVisibility() || /^(SCRIPT|STYLE)$/.test(e.tagName)) continue;
    const style = getComputedStyle(e), ground = behind(e);
    const ink = color(style.color);
    for (let a = e; a; a = a.parentElement) ink[3] *= Number(getComputedStyle(a).opacity);
    const [lo, hi] = [light(over(ink, ground)), light(ground)].sort((a, b) => a - b);
    const ratio = (hi + 0.05) / (lo + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    if (ratio < (large ? 3 : 4.5)) seen.set(e.tagName + "." + e.className + " in ." + e.parentElement.className, ratio.toFixed(2) + " " + text.slice(0, 20));
  }
  return [...seen].map((s) => s.join(": ")).join("\n");
})()`

// help: the help has enough contrast in both themes, like the pages.
func help(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/")
	p.Until("document.body.dataset.ready")
	p.Press("?")
	p.Until("document.querySelector('#help').open")
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		assert.Empty(t, p.Eval(contrasts), "dark %t", dark)
	}
}

// step is JavaScript that names the focused element: nothing without focus, and
// the defect if the focus is invisible.
const step = `(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return "";
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  (window.visited ??= new Set()).add(e);
  if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) return "no outline: " + e.outerHTML.slice(0, 100);
  if (box.bottom <= 0 || box.top >= innerHeight || box.right <= 0 || box.left >= innerWidth) return "out of sight: " + e.outerHTML.slice(0, 100);
  return "seen";
})()`

// byKeyboard: Tab reaches every clickable element, and the focus is visible.
func byKeyboard(t *testing.T, b *browser.Browser, s *stage, url string) {
	p := b.Page(t, 1280, 800)
	for _, page := range []string{"/", "/tree?path=/shop/locks/catalog"} {
		p.Open(url + page)
		p.Until("document.body.dataset.ready")
		const all = `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), summary")].filter((e) => e.checkVisibility())`
		n, err := strconv.Atoi(p.Eval(all + ".length"))
		require.NoError(t, err)
		for range min(n, 33) { // later elements are like earlier ones
			p.Press(browser.Tab)
			require.Equal(t, "seen", p.Eval(step), page)
		}
		missed := p.Eval(fmt.Sprintf("%s.slice(0, 28).filter((e) => !window.visited.has(e)).map((e) => e.outerHTML.slice(0, 100)).join()", all))
		assert.Empty(t, missed, "%s: elements that Tab does not reach", page)
	}
	// An update keeps the focus.
	p.Open(url + "/counters")
	p.Until(isLive)
	at := `document.activeElement?.getAttribute("href")`
	p.Eval(`document.querySelector('[data-key="counter /shop/counters/visits"] a').focus()`)
	before := p.Eval(at)
	require.True(t, strings.HasSuffix(before, "visits"), before)
	for _, value := range []string{"555555", "666666"} {
		require.NoError(t, s.srv.Set("/shop/counters/visits", []byte(value)))
		p.Says(value)
		assert.Equal(t, before, p.Eval(at))
	}
}
