package ui_test

import (
	"compress/gzip"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
)

// axe is the source of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	f, err := os.Open("testdata/axe/axe.min.js.gz")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	script, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(script)
}

// audit runs axe-core in a page, and returns its serious and critical findings, a line
// for each rule with the first elements.
func audit(p *browser.Page, script string) string {
	p.Eval(script + "; true")
	p.Eval(`window.audited = undefined; axe.run(document, {resultTypes: ["violations"]}).then(
		(r) => { window.audited = {rules: r.passes.length, found: r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map(
			(v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 160)).join(" | ")).join("\n")} },
		(e) => { window.audited = {rules: 0, found: String(e)} }); true`)
	p.Until("window.audited")
	if p.Eval("window.audited.rules > 5") != "true" {
		return "axe-core has not examined the page: " + p.Eval("window.audited.found")
	}
	return p.Eval("window.audited.found")
}

// TestPagesAreAccessible: axe-core has no serious finding on any page, in both themes.
func TestPagesAreAccessible(t *testing.T) {
	b := browser.Require(t)
	s := newStage(t)
	s.all()
	m, url := s.dashboardWith("/", &doctor.Auditor{})
	s.shows(m, func(v *ui.View) bool { return !v.Audit.At.IsZero() })
	script := axe(t)
	p := b.Page(t, 1280, 800)
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		for _, page := range append(at, shownPage{path: "/locks?q=nothing"}, shownPage{path: "/?q=shop"}, shownPage{path: "/tasks?path=/shop/mail"}, shownPage{path: "/jobs?path=/twister2/wordcount"}, shownPage{path: "/services?path=/shop/services/payments"},
			shownPage{path: "/tree?path=/shop/locks/checkout"}, shownPage{path: "/tree?path=/nothing"}, shownPage{path: "/tasks?path=/nothing"}, shownPage{path: "/none"}) {
			p.Open(url + page.path)
			assert.Empty(t, audit(p, script), "%s, dark: %t", page.path, dark)
		}
	}
	p.Complaints() // the page that does not exist
	p.Eval(`document.querySelector("main").innerHTML = "<img src='/assets/icon.svg'>"; true`)
	assert.Contains(t, audit(p, script), "image-alt", "axe-core finds what is wrong")
}
