//go:build unix

package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// remote is a site for other machines.
var remote = SiteOptions{Orders: true, Secret: testSecret, Hosts: web.Hosts{Remote: true}} // read only

// TestFormsWorkWithoutScripts: after an order the browser returns to the page;
// for a refused order the page shows the reason, and still has the orders.
func TestFormsWorkWithoutScripts(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	c, _ := b.crew("node")
	m.Watch(c)
	// A slow leader slows down each view.
	b.register(peer{entry{"slow", "/election/x", 7}, b.stranger(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
		writeJSON(w, http.StatusOK, Summary{Leader: "slow", Token: 7})
	}), ""})
	b.run(m)
	page := b.serve(NewSite(m, c, open))
	b.add(c, running)
	b.sees(m, func(v View) bool { return v.row("n1").Source == byItself }, "n1")
	// A browser sends these headers with a form, and no other headers.
	browser := map[string]string{"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Origin": page, "Sec-Fetch-Site": "same-origin"}
	token := regexp.MustCompile(`action="/nodes/n1/freeze"><input type="hidden" name="token" value="([^"]+)"`).FindStringSubmatch(b.get(page).text)
	require.Len(t, token, 2, "the form is on the page")
	form := "token=" + url.QueryEscape(token[1])

	before := time.Now()
	res := b.do("POST", page+"/nodes/n1/freeze", form, browser)
	assert.True(t, m.View().At.After(before), "the next page shows the effect")
	assert.Contains(t, b.get(page).text, `action="/nodes/n1/resume"`)
	assert.Equal(t, http.StatusSeeOther, res.StatusCode)
	assert.Equal(t, "/", res.Header.Get("Location"))
	assert.Equal(t, frozen, c.process("n1").State)
	res = b.do("POST", page+"/nodes", form, browser)
	assert.Equal(t, http.StatusSeeOther, res.StatusCode)
	assert.Len(t, c.Processes(), 2)

	for _, bad := range []struct {
		path, form string
		code       int
		says       string
	}{
		{"/nodes/n1/freeze", form, 409, errNotNow.Error()},
		{"/nodes/n1/resign", form, 502, ""},
		{"/nodes/n9/kill", form, 404, errUnknownNode.Error()},
		{"/nodes/n1/explode", form, 404, errOrder.Error()},
		{"/nodes/n1/kill", "token=guessed", 403, errSecret.Error()},
	} {
		res := b.do("POST", page+bad.path, bad.form, browser)
		assert.Equal(t, bad.code, res.StatusCode, bad.path)
		assert.Contains(t, res.Header.Get("Content-Type"), "text/html")
		assert.Regexp(t, `<p id="notice" role="status" aria-live="polite">[^<]*`+regexp.QuoteMeta(bad.says), res.text, bad.path)
		assert.NotContains(t, res.text, `aria-live="polite"></p>`, bad.path)
		assert.Contains(t, res.text, `action="/nodes/n1/resume"`, "the page is there")
		assert.Contains(t, res.text, `data-live=""`, "and the page is not updated")
		assert.NotContains(t, res.text, "<noscript>")
		assert.Equal(t, "same-origin", res.Header.Get("Referrer-Policy"), "its forms tell where they come from")

		res = b.do("POST", page+bad.path, bad.form, nil) // a program
		assert.Equal(t, bad.code, res.StatusCode, bad.path)
		var problem struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(res.text), &problem))
		assert.Contains(t, problem.Error, bad.says)
	}
	assert.NotContains(t, b.get(page).text, errNotNow.Error(), "the next page has no notice")
}

// TestSiteThatOthersReachWantsTheTokenOnce: the token is then kept in a cookie,
// in derived form, and not in the address.
func TestSiteThatOthersReachWantsTheTokenOnce(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(1) }, "a node")
	page := b.site(m, remote)
	shown := b.get(page).text
	assert.NotContains(t, shown, testSecret.key(forForm))
	assert.NotContains(t, shown, `/nodes/n1/kill`)
	assert.Contains(t, shown, "?token=")

	for _, wrong := range []string{"guessed", testSecret.key(forCookie), testSecret.key(forForm)} {
		assert.Empty(t, b.get(page+"/?token="+wrong).Cookies())
	}
	res := b.get(page + "/?token=" + url.QueryEscape(string(testSecret)))
	assert.Equal(t, http.StatusSeeOther, res.StatusCode)
	assert.Equal(t, "/", res.Header.Get("Location"))
	require.Len(t, res.Cookies(), 1)
	c := res.Cookies()[0]
	assert.True(t, c.HttpOnly)
	assert.Equal(t, http.SameSiteStrictMode, c.SameSite)
	assert.NotContains(t, c.Value, string(testSecret))
	own := map[string]string{"Cookie": c.Name + "=" + c.Value}
	assert.Contains(t, b.do("GET", page, "", own).text, `/nodes/n1/kill`)
	for _, wrong := range []string{"x", "", string(testSecret), testSecret.key(forForm), testSecret.key(forNodes)} {
		headers := map[string]string{"Cookie": c.Name + "=" + wrong}
		assert.NotContains(t, b.do("GET", page, "", headers).text, `/nodes/n1/kill`, wrong)
		assert.Equal(t, http.StatusForbidden, b.do("POST", page+"/nodes/n1/kill", withToken, headers).StatusCode, wrong)
	}
	assert.Equal(t, http.StatusForbidden, b.do("POST", page+"/nodes/n1/kill", withToken, nil).StatusCode, "the form's key without the cookie")
	assert.Equal(t, http.StatusForbidden, b.do("POST", page+"/nodes/n1/kill", "", own).StatusCode, "the cookie without the form's key")
	assert.NotNil(t, nodes[0].Leads(), "nothing has happened")
	assert.Equal(t, http.StatusAccepted, b.do("POST", page+"/nodes/n1/resign", withToken, own).StatusCode)
}

// TestSecretIsNeverSentBack: neither the secret nor the key for orders to nodes
// is sent, for any request with the knowledge of a browser.
func TestSecretIsNeverSentBack(t *testing.T) {
	b := newQuietBed(t)
	b.nodes("n1")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(1) }, "a node")
	for _, page := range []string{b.site(m, remote), b.site(m, open)} {
		all := ""
		headers := map[string]string{"Cookie": cookie + "=" + testSecret.key(forCookie)}
		for _, path := range []string{"/", "/index", "/cluster/summary", "/cluster/state", "/cluster.js", "/?token=" + string(testSecret), "/nothing"} {
			res := b.do("GET", page+path, "", headers)
			all += res.text
			for _, values := range res.Header {
				all += strings.Join(values, " ")
			}
		}
		for _, accept := range []string{"text/html", "application/json"} {
			headers["Accept"] = accept
			all += b.do("POST", page+"/nodes/n9/kill", "token="+string(testSecret), headers).text
			all += b.do("POST", page+"/nodes/n9/kill", withToken, headers).text
		}
		all += b.first(page)
		assert.Contains(t, all, testSecret.key(forForm))
		assert.NotContains(t, all, string(testSecret))
		assert.NotContains(t, all, testSecret.key(forNodes))
	}
}

// stream opens a page's stream. Its body is closed when ctx ends.
func (b *bed) stream(ctx context.Context, page string) (code int, header http.Header, events io.Reader) {
	b.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page+"/live", http.NoBody)
	require.NoError(b, err)
	r.Header.Set("Cookie", cookie+"="+testSecret.key(forCookie))
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(b, err)
	context.AfterFunc(ctx, func() { _ = res.Body.Close() })
	return res.StatusCode, res.Header, res.Body
}

// first is the first event of a page's stream.
func (b *bed) first(page string) string {
	b.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	_, _, events := b.stream(ctx, page)
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return data
		}
	}
	b.Errorf("the stream ended: %v", lines.Err())
	return ""
}

// TestOpenPagesHaveABound: a further client is told to retry later, can read
// the page, and gets a stream when another page is closed.
func TestOpenPagesHaveABound(t *testing.T) {
	b := newQuietBed(t)
	m := b.monitor()
	page := b.site(m, open)
	var leave context.CancelFunc
	for range mostStreams {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		code, _, _ := b.stream(ctx, page)
		require.Equal(t, http.StatusOK, code)
		leave = cancel
	}
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	code, header, _ := b.stream(ctx, page)
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.NotEmpty(t, header.Get("Retry-After"))
	assert.Equal(t, http.StatusOK, b.get(page).StatusCode)
	leave()
	b.until(func() bool { code, _, _ := b.stream(ctx, page); return code == http.StatusOK }, "a seat is free")
}

// TestAskingThePageAsksNoNode: no number of requests to the page causes a request
// to a node.
func TestAskingThePageAsksNoNode(t *testing.T) {
	b := newQuietBed(t)
	asked := make(chan struct{}, 1000)
	m := b.patientMonitor()
	m.coordinators = []peer{{entry{"n1", "/election/x", 7}, b.stranger(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		writeJSON(w, http.StatusOK, Summary{Leader: "n1", Token: 7})
	}), ""}}
	m.refreshView(b.ctx)
	require.NoError(t, m.View().Err)
	before := len(asked)
	require.Positive(t, before)
	page := b.site(m, open)
	for _, path := range []string{"/", "/index", "/cluster/summary", "/cluster/state"} {
		for range 5 {
			assert.Equal(t, http.StatusOK, b.get(page+path).StatusCode)
		}
	}
	assert.Len(t, asked, before)
	var state struct{ Heard time.Time }
	require.NoError(t, json.Unmarshal([]byte(b.get(page+"/cluster/state").text), &state))
	assert.Equal(t, m.View().Heard.UnixNano(), state.Heard.UnixNano(), "and the age is shown")
}

// TestEveryOrderHasItsButton: all orders valid for a node, and no others.
func TestEveryOrderHasItsButton(t *testing.T) {
	process := func(state string, cut bool) *Process { return &Process{Name: "n1", State: state, Cut: cut} }
	for name, c := range map[string]struct {
		row  Row
		want []Order
	}{
		"leader elsewhere":       {Row{Status: Status{Role: Leader}, Source: byLeader}, []Order{Resign, Kill}},
		"worker elsewhere":       {Row{Status: Status{Role: Worker}, Source: byLeader}, []Order{Kill}},
		"silent, elsewhere":      {Row{Status: Status{Role: Worker, Error: "x"}, Source: byLeader}, nil},
		"leader here":            {Row{Status: Status{Role: Leader}, Process: process(running, false)}, []Order{Resign, Freeze, Cut, Kill}},
		"worker here":            {Row{Status: Status{Role: Worker}, Process: process(running, false)}, []Order{Freeze, Cut, Kill}},
		"cut off":                {Row{Status: Status{Role: Worker}, Process: process(running, true)}, []Order{Freeze, Heal, Kill}},
		"frozen":                 {Row{Status: Status{Role: Worker}, Process: process(frozen, false)}, []Order{Resume, Kill}},
		"frozen and cut off":     {Row{Status: Status{Role: Leader}, Process: process(frozen, true)}, []Order{Resume, Heal, Kill}},
		"dead":                   {Row{Process: process(exited, false)}, []Order{Start}},
		"starting":               {Row{Process: process(starting, false), Source: byProcess}, nil},
		"what it was before":     {Row{Status: Status{Role: Leader}, Source: byRegistry, twin: true}, nil},
		"registered, unheard of": {Row{Status: Status{Role: Worker}, Source: byRegistry}, []Order{Kill}},
	} {
		var got []Order
		for _, button := range c.row.With("t").Orders() {
			got = append(got, button.What)
			assert.Equal(t, "t", button.Token)
			assert.NotEmpty(t, button.Text)
			assert.NotEmpty(t, button.Title)
		}
		assert.Equal(t, c.want, got, name)
	}
}

// TestLeaderIsShownByItsOwnAnswerOnly: and no dead node is shown as alive.
func TestLeaderIsShownByItsOwnAnswerOnly(t *testing.T) {
	for _, c := range []struct {
		row         Row
		class, text string
		stale       bool
	}{
		{Row{Status: Status{Role: Leader}, Source: byLeader}, "good", "leader", false},
		{Row{Status: Status{Role: Leader}, Source: byItself}, "good", "leader", false},
		{Row{Status: Status{Role: Leader}, Source: byRegistry}, "warn", "leader?", true},
		{Row{Status: Status{Role: Leader}, Source: byRegistry, Process: &Process{State: frozen}}, "warn", "leader?", true},
		{Row{Status: Status{Role: Leader}, Source: byRegistry, Process: &Process{State: exited}}, "bad", "dead", true},
		{Row{Status: Status{Role: Leader}, Source: byLeader, Process: &Process{State: exited}}, "bad", "dead", false},
		{Row{Status: Status{Role: Worker}, Source: byLeader}, "", "worker", false},
		{Row{Status: Status{Role: Worker, Error: "x"}, Source: byLeader}, "", "worker", true},
		{Row{Status: Status{Role: Joining}, Source: byProcess}, "warn", "joining", false},
		{Row{}, "warn", "joining", false},
	} {
		kind := c.row.Kind()
		assert.Equal(t, []any{c.class, c.text, c.stale}, []any{kind.Class, kind.Text, c.row.Stale()}, "%+v", c.row)
	}
}

// TestEmptyCrewsPageCanAddNodes, and a page of nodes elsewhere cannot.
func TestEmptyCrewsPageCanAddNodes(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	c, _ := b.crew("node")
	assert.Contains(t, b.get(b.serve(NewSite(m, c, open))).text, `action="/nodes"`)
	assert.NotContains(t, b.get(b.site(m, open)).text, `action="/nodes"`)
	assert.NotContains(t, b.get(b.serve(NewSite(m, c, SiteOptions{Secret: testSecret}))).text, `method="post"`, "orders are off")
}
