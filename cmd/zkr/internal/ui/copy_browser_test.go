package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// TestPathsAndCommandsAreCopied by a button, by the keyboard, and without a clipboard.
func TestPathsAndCommandsAreCopied(t *testing.T) {
	b := browser.Require(t)
	s := newStage(t)
	odd := "/l/lock with \u202e and " + strings.Repeat("x", 400)
	s.contend(odd, "h", "w")
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Kinds(recognize.Mutex)) == 1 })
	p := b.Page(t, 1280, 800)
	open := func(page string) {
		p.Open(base + page)
		p.Until(isLive)
		p.Eval("window.copied = []; navigator.clipboard.writeText = async (text) => { copied.push(text) }; true")
	}
	copied := func(want string) {
		t.Helper()
		p.Until("copied.length > 0")
		assert.Equal(t, want, p.Eval("copied.pop()"))
		p.Until("document.querySelector('#said').textContent.startsWith('Copied ')")
	}
	open("/locks")
	p.Press("j")
	p.Press("c")
	copied(odd) // as it is, not as it is shown
	p.Eval("document.querySelector('.entry button.copy').click()")
	copied(odd)
	p.Until("document.querySelector('.copied')")
	open("/elections")
	p.Eval("document.querySelector('.try button').focus()")
	p.Press(browser.Enter)
	copied("zkr elect /election/demo -- sleep 60")
	open("/tree?path=/l")
	p.Press("c")
	copied("/l")
	p.Eval("navigator.clipboard.writeText = async () => { throw new Error() }; document.execCommand = () => { copied.push(document.activeElement.value); return true }; true")
	p.Eval("document.querySelector('.crumbs button').focus()")
	p.Press(browser.Enter)
	copied("/l")
	assert.Equal(t, "true", p.Eval("document.activeElement.matches('.crumbs button')"), "the focus stays")
	p.Eval("document.execCommand = () => false; document.querySelector('.crumbs button').click()")
	p.Says("Not copied")
	p.Press("c") // with the focus on a button, too
	p.Eval("document.querySelector('.crumbs button').focus()")
	updates := p.Eval("document.body.dataset.updates")
	s.put("/l/more", "")
	p.Until("document.body.dataset.updates !== '" + updates + "'")
	assert.Equal(t, "true", p.Eval("document.activeElement.matches('.crumbs button')"), "an update keeps the focus")
	p.Scripts(false)
	p.Open(base + "/elections")
	assert.Equal(t, "none", p.Eval("getComputedStyle(document.querySelector('.try button')).display"), "plain text without scripts")
	assert.Contains(t, p.Text(".try"), "zkr elect /election/demo")
}
