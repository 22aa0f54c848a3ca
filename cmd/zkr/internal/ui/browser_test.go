package ui_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// images is where the pictures of the pages are.
const images = "../../../../docs/images"

// ages are all durations on a page.
const ages = "[...document.querySelectorAll('main time')].filter((e) => !e.closest('.unknown')).map((e) => e.textContent).join()"

// isLive is true in a page with a live stream.
const isLive = "document.body.dataset.stream === 'open'"

// inBrowser tests the dashboard in a browser. An error in the console, or a
// violation of the page's policy, fails the test.
func inBrowser(t *testing.T, s *stage, m *ui.Model, url string) {
	b := browser.Require(t)
	t.Run("each page loads, is live, can be read in every window, and has its picture", func(t *testing.T) { visits(t, b, s, m, url) })
	t.Run("cards of a page look alike", func(t *testing.T) { alike(t, b, url) })
	t.Run("a change is shown within a second", func(t *testing.T) { changes(t, b, s, url) })
	t.Run("keys", func(t *testing.T) { keys(t, b, url) })
	t.Run("filter", func(t *testing.T) { filters(t, b, url) })
	t.Run("light and dark", func(t *testing.T) { themes(t, b, url) })
	t.Run("so can the help", func(t *testing.T) { help(t, b, url) })
	t.Run("everything can be reached by Tab", func(t *testing.T) { byKeyboard(t, b, s, url) })
	t.Run("what is hostile is shown", func(t *testing.T) { hostile(t, b, s, url) })
	t.Run("without scripts", func(t *testing.T) { still(t, b, url) })
	t.Run("while its own server is away", func(t *testing.T) { cut(t, b, s, m) })
	t.Run("while ZooKeeper is away", func(t *testing.T) { away(t, b, s, url) })
}

// visits opens every page once, inspects the page in both themes and in a small
// window, and with -update makes the pictures for the documentation.
func visits(t *testing.T, b *browser.Browser, s *stage, m *ui.Model, url string) {
	if *update {
		s.lively(m)
	}
	p := b.Page(t, 1280, 800)
	for _, page := range at {
		if page.name == "overview" {
			p.Size(1280, 1170)
		}
		p.Open(url + page.path)
		p.Until(isLive)
		picture(t, p, page.name)
		p.Size(1280, 800)
		const fits = "document.scrollingElement.scrollWidth <= innerWidth"
		assert.Equal(t, "true", p.Eval(fits), "%s is no wider than its window", page.path)
		p.Eval("document.querySelectorAll('details').forEach((d) => { d.open = true })")
		assert.Empty(t, p.Eval(contrasts), page.path)
		p.Dark(true)
		assert.Empty(t, p.Eval(contrasts), "%s, dark", page.path)
		p.Dark(false)
		p.Size(360, 640)
		assert.Equal(t, "true", p.Eval(fits), "%s is no wider than a small window", page.path)
		p.Size(1280, 800)
	}
	p.Dark(true)
	p.Size(1280, 1170)
	p.Open(url + "/")
	p.Until(isLive)
	picture(t, p, "overview-dark")
	p.Dark(false)
	p.Size(390, 844)
	p.Open(url + "/")
	p.Until(isLive)
	picture(t, p, "overview-narrow")
}

// picture writes a picture, or checks that the picture exists.
func picture(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	file := filepath.Join(images, "ui-"+name+".png")
	if *update {
		png := p.Screenshot()
		assert.Less(t, len(png), 200_000, name)
		require.NoError(t, os.MkdirAll(images, 0o755))
		require.NoError(t, os.WriteFile(file, png, 0o600))
	}
	_, err := os.Stat(file)
	assert.NoError(t, err, "-update makes the picture")
}

// alike looks at where things stand in the cards of a page.
func alike(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	open := func(page string) {
		p.Open(url + page)
		p.Until(isLive)
	}
	every := func(what, holds string) string {
		return "[...document.querySelectorAll('" + what + "')].map((e) => " + holds + ").join()"
	}
	open("/counters")
	const below = "e.querySelector('.path').getBoundingClientRect().top >= e.querySelector('.kind').getBoundingClientRect().bottom"
	assert.Equal(t, "true,true,true,true,true,true", p.Eval(every("article header", below)), "each path is below its badge, for paths of any length")
	visits := `[data-key="counter /shop/counters/visits"] .big`
	assert.Regexp(t, `^\d{2},\d{3}$`, p.Eval(every(visits+" span", "e.textContent")), "thousands stand apart")
	assert.Regexp(t, `^\d{5}$`, p.Eval("document.querySelector('"+visits+"').textContent"), "and are copied as a number")
	open("/members")
	const beside = "Math.abs(e.querySelector('.state').getBoundingClientRect().top - e.querySelector('.path').getBoundingClientRect().top) < 8"
	assert.Equal(t, "true,true", p.Eval(every("article header", beside)), "each state is in the line of its path, also of a guess")
	open("/services")
	columns := every(".entry:not(.head)", "[...e.children].map((c) => Math.round(c.getBoundingClientRect().left)).join(' ')")
	first, second, ok := strings.Cut(p.Eval(columns), ",")
	assert.True(t, ok)
	assert.Equal(t, first, second, "rows have the same columns")
}

func changes(t *testing.T, b *browser.Browser, s *stage, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/counters")
	p.Until(isLive)
	p.Eval("window.before = document.querySelector('[data-key=\"counter /shop/counters/config-epoch\"]')")
	fastest := limit // slow rounds may have waited for other work of the machine
	for _, value := range []string{"111111", "222222", "333333", "444444"} {
		begin := time.Now()
		require.NoError(t, s.srv.Set("/shop/counters/visits", []byte(value)))
		p.Says(value)
		fastest = min(fastest, time.Since(begin))
	}
	assert.Less(t, fastest, 5*time.Second, "the machine may be busy; TestTenThousandZnodes bounds large trees")
	p.Until("document.querySelector('svg.spark')")
	assert.Equal(t, "true", p.Eval("window.before.isConnected"), "an unchanged element stays the same element")
	p.Open(url + "/locks")
	p.Until(isLive)
	s.put("/shop/locks/new-one", "")
	s.ephemeral("late", "/shop/locks/new-one/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000000", "a new holder")
	p.Says("a new holder")
	require.NoError(t, s.srv.ExpireSession(s.session("late").ID()))
	p.Until("!document.body.innerText.includes('a new holder')")
	updates := p.Eval("document.body.dataset.updates")
	select {
	case <-time.After(600 * time.Millisecond):
	case <-s.ctx.Done():
	}
	assert.Equal(t, updates, p.Eval("document.body.dataset.updates"), "nothing is sent when nothing changes")
}

func keys(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/locks")
	p.Until("document.body.dataset.ready")
	selected := func() string { return p.Eval("document.querySelector('.selected')?.dataset.href ?? ''") }
	assert.Empty(t, selected())
	p.Press("j")
	assert.Equal(t, "/tree?path=%2Fshop%2Flocks%2Finvoices", selected(), "things with problems come first")
	p.Press("j")
	assert.Equal(t, "/tree?path=%2Fshop%2Flocks%2Fcatalog", selected())
	p.Press("k")
	p.Press("k")
	assert.Equal(t, "/tree?path=%2Fshop%2Flocks%2Finvoices", selected())
	p.Press("?")
	assert.Equal(t, "true", p.Eval("document.querySelector('#help').open"))
	p.Press("?")
	assert.Equal(t, "false", p.Eval("document.querySelector('#help').open"))
	p.Press(browser.Enter)
	p.Until("location.pathname === '/tree' && document.body.dataset.ready")
	p.Press("u")
	p.Until("location.search === '?path=%2Fshop%2Flocks' && document.body.dataset.ready")
	p.Press("3")
	p.Until("location.pathname === '/elections' && document.body.dataset.ready")
	p.Press("0")
	p.Until("location.pathname === '/tasks' && document.body.dataset.ready")
	p.Press("/")
	assert.Equal(t, "filter", p.Eval("document.activeElement.id"))
	p.Press("j")
	assert.Equal(t, "j", p.Eval("document.querySelector('#filter').value"), "in a field keys are letters")
	p.Press(browser.Escape)
	assert.Equal(t, "BODY", p.Eval("document.activeElement.tagName"))
}

func filters(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/locks")
	p.Until(isLive)
	p.Press("/")
	p.Press("checkout")
	p.Until("document.querySelectorAll('article').length === 1 && location.search === '?q=checkout'")
	assert.Equal(t, "filter", p.Eval("document.activeElement.id"), "typing can continue")
	p.Press("zzz")
	p.Says("No matches")
	p.Open(url + "/locks?q=gpus")
	assert.Equal(t, "1", p.Eval("document.querySelectorAll('article').length"))
	assert.Equal(t, "gpus", p.Eval("document.querySelector('#filter').value"))
}

func themes(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	ground := func() string { return p.Eval("getComputedStyle(document.body).backgroundColor") }
	p.Dark(false)
	p.Open(url + "/")
	light := ground()
	p.Dark(true)
	dark := ground()
	assert.NotEqual(t, light, dark, "as the system is")
	p.Press("t")
	assert.Equal(t, light, ground(), "the theme chosen by the reader")
	p.Open(url + "/locks")
	assert.Equal(t, light, ground(), "on all pages")
	p.Click("#theme")
	assert.Equal(t, dark, ground())
	p.Eval("localStorage.clear()")
}

func hostile(t *testing.T, b *browser.Browser, s *stage, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/sessions")
	p.Until(isLive)
	s.put("/evil", "")
	for i, evil := range evils() {
		s.put(fmt.Sprintf("/evil/l%d", i), "")
		s.ephemeral("evil", fmt.Sprintf("/evil/l%d/_c_b6e1bacb-95aa-485f-b2a5-02692629ab8%d-lock-0000000000", i, i), evil.data)
		s.put("/evil/"+evil.name, evil.data)
	}
	p.Says("<script>alert(1)</script>") // as text, by an update
	for _, page := range []string{"/locks", "/tree?path=/evil", "/?q=evil"} {
		p.Open(url + page)
		p.Until(isLive)
		assert.Equal(t, "0", p.Eval("document.querySelectorAll('main script, main img, main [onerror]').length"), page)
		assert.Equal(t, "0", p.Eval("[...document.links].filter(a => a.protocol !== 'http:').length"), page)
		assert.Equal(t, "true", p.Eval("document.documentElement.scrollWidth <= innerWidth"), page)
	}
	p.Open(url + "/tree?path=/evil/big")
	p.Says("The beginning of 900.0 kB")
	require.NoError(t, s.srv.DeleteAll("/evil"))
	assert.Empty(t, p.Complaints())
}

func still(t *testing.T, b *browser.Browser, url string) {
	p := b.Page(t, 1280, 800)
	p.Scripts(false)
	for _, page := range at[:2] { // the others are asked for without a browser as well
		p.Open(url + page.path)
		has(t, p.Eval("document.documentElement.outerHTML"), page.says, page.path)
		assert.Equal(t, "", p.Eval("document.body.dataset.ready ?? ''"), "no script runs")
	}
	assert.Equal(t, "none", p.Eval("getComputedStyle(document.querySelector('#theme')).display"), "the controls for scripts are hidden")
}

// cut stops the server of the page: the page shows the loss, and continues with
// the next server.
func cut(t *testing.T, b *browser.Browser, s *stage, m *ui.Model) {
	serve := func(addr, where string) (url string, end func()) {
		ctx, cancel := context.WithCancel(s.ctx)
		l, err := web.Listen(ctx, addr, false)
		require.NoError(t, err)
		over := make(chan error, 1)
		// Waited for by end; ends with ctx.
		go func() { over <- web.Serve(ctx, l, ui.Handler(m, where, nil)) }()
		return web.URL(l), func() { cancel(); require.NoError(t, <-over) }
	}
	url, end := serve(world.OwnAddress(), "zk1.example.org:2181")
	p := b.Page(t, 1280, 800)
	p.Open(url + "counters")
	p.Until(isLive)
	end()
	p.Until("document.body.classList.contains('cut')")
	notice := "getComputedStyle(document.querySelector('.live'), '::after').content"
	p.Until(notice + `.match(/does not answer.*: this is [0-9]+s old/)`)
	p.Size(360, 640)
	assert.Equal(t, "true", p.Eval("document.scrollingElement.scrollWidth <= innerWidth"), "nor is the page wider")
	p.Size(1280, 800)
	frozen, old := p.Eval(ages), p.Eval(notice)
	p.Until(notice + " !== " + strconv.Quote(old))
	assert.Equal(t, frozen, p.Eval(ages), "unknown ages do not grow")
	require.NoError(t, s.srv.Set("/shop/counters/visits", []byte("777777")))
	p.Eval("window.same = 1")
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	_, end = serve(addr, "zk1.example.org:2181")
	p.Says("777777")
	assert.Equal(t, "1", p.Eval("window.same"), "the page goes on")
	p.Until(isLive + " && !document.body.classList.contains('cut')")
	p.Until(ages + " !== " + strconv.Quote(frozen))
	// A dead connection stays open: no message for a minute.
	p.Eval("window.lost = 0; new MutationObserver(() => { window.lost += document.body.dataset.stream === 'cut' }).observe(document.body, {attributeFilter: ['data-stream']})")
	p.Eval("{ const now = Date.now; Date.now = () => now() + 60000 }")
	p.Until("window.lost > 0")
	p.Until(isLive)
	end()
	_, end = serve(addr, "zk9.example.org:2181") // another server has the address
	p.Until("document.querySelector('.where').textContent === 'zk9.example.org:2181' && " + isLive)
	p.Open("about:blank")
	p.Complaints() // ignore the errors of failed requests
	end()
}

// away stops the server: the dashboard shows its age, and continues afterwards.
func away(t *testing.T, b *browser.Browser, s *stage, url string) {
	p := b.Page(t, 1280, 800)
	p.Open(url + "/locks")
	p.Until(isLive)
	require.NoError(t, s.srv.Stop(1))
	p.Says("ZooKeeper is away")
	p.Until("/is [0-9]+s old/.test(document.querySelector('.live').innerText)")
	has(t, p.Text("main"), "checkout", "the known state is shown")
	frozen, old := p.Eval(ages), p.Text(".live")
	p.Until("document.querySelector('.live').innerText !== " + strconv.Quote(old))
	assert.Equal(t, frozen, p.Eval(ages), "unknown ages do not grow")
	p.Size(360, 640)
	assert.Equal(t, "true", p.Eval("document.scrollingElement.scrollWidth <= innerWidth"), "nor wider")
	assert.Empty(t, p.Eval(contrasts))
	p.Size(1280, 1000)
	p.Open(url + "/")
	p.Until(isLive)
	assert.Equal(t, "0", p.Eval("document.querySelectorAll('.allgood').length"), "whether problems exist is unknown")
	picture(t, p, "away")
	p.Open(url + "/locks")
	p.Until(isLive)
	_, text, _ := get(t, url+"/api/things")
	has(t, text, `"stale": true`, "the API")
	require.NoError(t, s.srv.Restart(1))
	p.Until("document.querySelector('.live').innerText.startsWith('live')")
	p.Until(ages + " !== " + strconv.Quote(frozen))
	assert.Equal(t, "0", p.Eval("document.querySelectorAll('[data-asof], .unknown').length"))
}

// lively adds events for the pictures: a counter counts, and leaders change.
func (s *stage) lively(m *ui.Model) {
	s.Helper()
	e := election.New(s.actor("web-1"), "/shop/leader/reports", &election.Options{ID: "web-1"})
	l, err := e.Campaign(s.ctx)
	require.NoError(s, err)
	_, err = election.New(s.actor("web-3"), "/shop/leader/reports", &election.Options{ID: "web-3"}).Stand(s.ctx)
	require.NoError(s, err)
	_ = m
	value := 18_204
	for i := range 40 {
		value += 3 + (i*7)%11 + 20*(i%9/8)
		data := make([]byte, 8)
		for k := range 8 {
			data[7-k] = byte(value >> (8 * k))
		}
		require.NoError(s, s.srv.Set("/shop/counters/orders", data))
		require.NoError(s, s.srv.Set("/shop/counters/visits", fmt.Appendf(nil, "%d", 90125+(i%13)*(i%5)*3-i)))
		if i == 20 {
			require.NoError(s, l.Resign(s.ctx))
		}
		select {
		case <-time.After(170 * time.Millisecond):
		case <-s.ctx.Done():
		}
	}
}
