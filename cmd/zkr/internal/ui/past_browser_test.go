package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
)

const (
	// shownMoment is the moment that a page shows, and address the one that it names.
	shownMoment = "document.querySelector('#moment').dataset.at"
	address     = "new URLSearchParams(location.search).get('at')"
)

// shows waits until a page shows a moment, and the address names it.
func shows(p *browser.Page, at string) {
	p.Until(shownMoment + " === '" + at + "' && " + address + " === '" + at + "'")
}

func TestTimeLineInABrowser(t *testing.T) {
	b := browser.Require(t)
	a := openPast(t, "/", pastScene)
	open := func(t *testing.T, path string) *browser.Page {
		p := b.Page(t, 1280, 800)
		p.Open(a.url + path)
		p.Until(isLive)
		p.Eval("window.same = 'page'")
		t.Cleanup(func() {
			assert.Equal(t, "page", p.Eval("window.same ?? ''"), "the page was never loaded again")
			assert.Empty(t, p.Complaints())
		})
		return p
	}
	t.Run("keys lead to the events", func(t *testing.T) {
		p := open(t, "/locks?at=0xe")
		p.Says("held by one")
		p.Press("]")
		shows(p, "0xf")
		p.Says("held by two")
		assert.Equal(t, "/locks?at=0xf", p.Eval("document.querySelector('nav.side a[aria-current]').getAttribute('href')"))
		assert.Equal(t, "/?at=0xf", p.Eval("document.querySelector('.brand').getAttribute('href')"))
		assert.Equal(t, "0xf · Locks · zkr ui", p.Eval("document.title"))
		p.Press("[")
		shows(p, "0xe")
		p.Says("held by one")
	})
	t.Run("letters in the filter are letters", func(t *testing.T) {
		p := open(t, "/locks?at=0xf")
		p.Press("/")
		p.Press("]p[report")
		p.Until("new URLSearchParams(location.search).get('q') === ']p[report'")
		p.Says("No matches")
		assert.Equal(t, `"0xf"`, p.Eval("JSON.stringify("+address+")"))
		assert.Equal(t, "filter", p.Eval("document.activeElement.id"))
		assert.Equal(t, "false", p.Eval("document.querySelector('#play').getAttribute('aria-pressed')"))
	})
	t.Run("the line is dragged, and moved by keys", func(t *testing.T) {
		p := open(t, "/locks?at=0xf")
		p.Eval("{ const e = document.querySelector('#line'); e.value = 376; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) }")
		shows(p, "2026-11-26T17:45:43.795Z")
		p.Says("held by two")
		p.Eval("document.querySelector('#line').focus()")
		p.Press(browser.Left)
		shows(p, "2026-11-26T17:45:43.791Z")
		p.Says("held by one")
		assert.Equal(t, "372", p.Eval("document.querySelector('#line').value"))
		assert.NotEmpty(t, p.Eval("document.querySelector('#line').getAttribute('aria-valuetext')"))
		p.Eval("document.querySelector('#line').dispatchEvent(new Event('input', {bubbles: true})); document.querySelector('#line').dispatchEvent(new PointerEvent('pointercancel', {bubbles: true}))")
		assert.Equal(t, "372", p.Eval("document.querySelector('#line').value"), "the line stands where the page is")
	})
	t.Run("playing goes from event to event, once", func(t *testing.T) {
		p := open(t, "/locks?at=0x9")
		p.Click("#play")
		shows(p, "0xb")
		p.Eval("window.shown = 0; document.addEventListener('live:shown', () => { window.shown++ })")
		shows(p, "0xc")
		shows(p, "0xe")
		assert.Equal(t, "2", p.Eval("window.shown"))
		p.Press("p")
		assert.Equal(t, "Play", p.Eval("document.querySelector('#play').textContent"))
		p.Press("p")
		p.Press("p")
		p.Press("p")
		shows(p, "0x10")
		p.Press("p")
	})
	t.Run("a moment that cannot be fetched changes nothing", func(t *testing.T) {
		p := open(t, "/locks?at=0xe")
		a.cut.Store(true)
		was := p.Eval("document.querySelector('#line').value")
		p.Press("]")
		p.Until("document.body.dataset.stream === 'cut'")
		assert.Equal(t, `"0xe"`, p.Eval("JSON.stringify("+address+")"))
		assert.Equal(t, was, p.Eval("document.querySelector('#line').value"))
		p.Says("held by one")
		a.cut.Store(false)
		p.Until(isLive)
		p.Press("]")
		shows(p, "0xf")
		assert.Len(t, p.Complaints(), 1, "the browser tells of the failed request")
	})
	t.Run("without scripts", func(t *testing.T) {
		p := b.Page(t, 1280, 800)
		p.Scripts(false)
		p.Open(a.url + "/locks?at=0xe")
		assert.Equal(t, "none", p.Eval("getComputedStyle(document.querySelector('#line')).display"))
		p.Click("a[rel=next]")
		p.Says("held by two")
	})
	t.Run("every window and theme", func(t *testing.T) {
		for _, size := range [][2]int64{{1280, 800}, {360, 640}} {
			p := b.Page(t, size[0], size[1])
			p.Open(a.url + "/locks?at=2026-11-27T10:00:00Z")
			p.Until(isLive)
			assert.Equal(t, "true", p.Eval("document.scrollingElement.scrollWidth <= innerWidth"), size)
			assert.Empty(t, p.Eval(contrasts))
			p.Dark(true)
			assert.Empty(t, p.Eval(contrasts), "dark")
			p.Dark(false)
		}
	})
}
