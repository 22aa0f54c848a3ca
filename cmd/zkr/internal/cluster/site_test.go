//go:build unix

package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site serves a site.
func (b *bed) site(m *Monitor, o SiteOptions) string {
	b.Helper()
	return b.serve(NewSite(m, nil, o))
}

// serve serves a site; its server is not closed before the streams have ended.
func (b *bed) serve(s *Site) string {
	b.Helper()
	ts := httptest.NewServer(s.Handler())
	b.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.URL
}

// withToken is the parameter of the page's forms.
var withToken = "token=" + testSecret.key(forForm) // read only

// open are the options of a site that only this machine can reach.
var open = SiteOptions{Orders: true, Open: true, Secret: testSecret} // read only

// TestOrdersNeedTheToken: orders need permission, and are refused from other
// pages in the same browser.
func TestOrdersNeedTheToken(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(2) }, "two nodes")
	page := b.site(m, open)
	host := strings.TrimPrefix(page, "http://")
	off := b.site(m, SiteOptions{Secret: testSecret})
	secretless := b.site(m, SiteOptions{Orders: true, Open: true})
	for name, c := range map[string]struct {
		method, url, form string
		headers           map[string]string
		code              int
	}{
		"no token":          {"POST", page + "/nodes/n1/kill", "", nil, 403},
		"an empty token":    {"POST", page + "/nodes/n1/kill", "token=", nil, 403},
		"another token":     {"POST", page + "/nodes/n1/kill", "token=x", nil, 403},
		"in the address":    {"POST", page + "/nodes/n1/kill?" + withToken, "", nil, 403},
		"a GET":             {"GET", page + "/nodes/n1/kill?" + withToken, "", nil, 405},
		"a GET, adding":     {"GET", page + "/nodes?" + withToken, "", nil, 405},
		"foreign origin":    {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Origin": "http://evil.example"}, 403},
		"another port":      {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"https":             {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Origin": "https://" + host}, 403},
		"a nameless origin": {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Origin": "null"}, 403},
		"cross site":        {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		"same site":         {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"another name":      {"POST", page + "/nodes/n1/kill", withToken, map[string]string{"Host": "evil.example"}, 421},
		"too long":          {"POST", page + "/nodes/n1/kill", withToken + "&x=" + strings.Repeat("x", formLimit), nil, 403},
		"orders are off":    {"POST", off + "/nodes/n1/kill", withToken, nil, 403},
		"no secret is set":  {"POST", secretless + "/nodes/n1/kill", "token=", nil, 403},
		"the secret itself": {"POST", page + "/nodes/n1/kill", "token=" + string(testSecret), nil, 403},
		"key of the cookie": {"POST", page + "/nodes/n1/kill", "token=" + testSecret.key(forCookie), nil, 403},
		"key of the nodes":  {"POST", page + "/nodes/n1/kill", "token=" + testSecret.key(forNodes), nil, 403},
		"no such node":      {"POST", page + "/nodes/n9/kill", withToken, nil, 404},
		"no such order":     {"POST", page + "/nodes/n1/explode", withToken, nil, 404},
		"not its process":   {"POST", page + "/nodes/n1/freeze", withToken, nil, 404},
		"no crew to add to": {"POST", page + "/nodes", withToken, nil, 404},
		"not the leader":    {"POST", page + "/nodes/n2/resign", withToken, nil, 409},
	} {
		assert.Equal(t, c.code, b.do(c.method, c.url, c.form, c.headers).StatusCode, name)
	}
	assert.NotNil(t, nodes[0].Leads(), "nothing has happened")

	own := map[string]string{"Origin": page, "Sec-Fetch-Site": "same-origin", "Accept": "text/html"}
	res := b.do("POST", page+"/nodes/n1/kill", withToken, own)
	assert.Equal(t, http.StatusSeeOther, res.StatusCode, "a form goes back to the page")
	b.until(func() bool { return nodes[1].Leads() != nil }, "n2 leads")
	b.sees(m, func(v View) bool { return v.Err == nil && v.Leading() == "n2" }, "n2 lead")
	assert.Equal(t, http.StatusAccepted, b.do("POST", page+"/nodes/n2/resign", withToken, nil).StatusCode)
}

// TestPageReadsWithoutScripts: the row of each node, as in its own answer, with
// both addresses. D11, D17
func TestPageReadsWithoutScripts(t *testing.T) {
	b := newQuietBed(t)
	nodes := b.nodes("n1", "n2")
	m := b.monitor()
	b.sees(m, func(v View) bool { return v.Settled(2) }, "two nodes")
	page := b.site(m, open)
	for _, address := range []string{"/", "/index"} {
		res := b.get(page + address)
		assert.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none'")
		shown := res.text
		for _, n := range nodes {
			s := n.Status()
			for _, text := range []string{s.Znode, s.Watched, s.Address, s.Session, string(s.Role), `action="/nodes/` + s.Name + `/kill"`} {
				assert.Contains(t, shown, text)
			}
		}
		assert.Contains(t, shown, `<noscript><meta http-equiv="refresh" content="2"></noscript>`)
		assert.Contains(t, shown, `aria-label="Kill n2"`)
		assert.NotContains(t, shown, " style=")
		assert.NotContains(t, shown, "<script>")
	}
	for _, name := range []string{"/cluster.css", "/cluster.js", "/assets/live.js"} {
		assert.Equal(t, http.StatusOK, b.get(page+name).StatusCode, name)
	}
	assert.Equal(t, http.StatusNotFound, b.get(page+"/nothing").StatusCode)
}

// TestOnlyTheLeaderServesTheSummary: 404 while no node leads, and rows in the order
// of the znodes. D9, D10, D13, D14, D19
func TestOnlyTheLeaderServesTheSummary(t *testing.T) {
	b := newQuietBed(t)
	m := b.monitor()
	page := b.site(m, open)
	assert.Equal(t, http.StatusNotFound, b.get(page+"/cluster/summary").StatusCode)
	nodes := b.nodes("n1", "n2", "n3")
	b.sees(m, func(v View) bool { return v.Settled(3) }, "three nodes")
	var s Summary
	require.NoError(t, json.Unmarshal([]byte(b.get(page+"/cluster/summary").text), &s))
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	assert.Equal(t, []string{"n1", "n2", "n3"}, names)
	for _, n := range nodes[1:] {
		assert.Equal(t, http.StatusBadRequest, b.get(n.web.URL+"/cluster/status").StatusCode, "D19")
	}

	// A worker dies silently: the leader still answers, the row shows the
	// failure, and the row goes with the session; then the gap is closed.
	second := nodes[1].Status()
	nodes[1].web.Close()
	nodes[1].proxy.Cut()
	b.sees(m, func(v View) bool { return v.Err == nil && v.row("n2").Error != "" && v.row("n2").Znode == second.Znode }, "n2 silent")
	b.expire(second)
	v := b.sees(m, func(v View) bool { return v.Settled(2) }, "the gap closed")
	assert.Equal(t, "n1", v.Leading())
	assert.Equal(t, nodes[0].Status().Znode, Election+"/"+v.row("n3").Watched)

	// The leader's web server hangs: the request has a limit, and the page shows
	// the registered nodes.
	nodes[0].web.Close()
	v = b.sees(m, func(v View) bool { return v.Err != nil }, "the leader silent")
	require.ErrorIs(t, v.Err, ErrSilent)
	assert.Equal(t, http.StatusServiceUnavailable, b.get(page+"/cluster/summary").StatusCode)
	assert.Equal(t, byRegistry, v.row("n3").Source)
	var state View
	require.NoError(t, json.Unmarshal([]byte(b.get(page+"/cluster/state").text), &state))
	assert.NotEmpty(t, state.Problem)
}

// row is the row of a node.
func (v View) row(name string) Row {
	for _, r := range v.Rows {
		if r.Name == name {
			return r
		}
	}
	return Row{}
}

// TestWhyIsReadOut: a title is for a mouse alone.
func TestWhyIsReadOut(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	m.view = View{Rows: []Row{
		{Status: Status{Name: "n1", Error: "it hangs"}, Source: byLeader},
		{Status: Status{Name: "n2"}, Source: byProcess, Process: &Process{Name: "n2", State: exited, Exit: "signal: killed"}},
	}}
	shown := b.get(b.site(m, open)).text
	assert.Contains(t, shown, `>no answer<span class="read">: it hangs</span>`)
	assert.Contains(t, shown, `>dead<span class="read">: signal: killed</span>`)
}

// TestHostileWordsAreShownAsWords: whatever a node says.
func TestHostileWordsAreShownAsWords(t *testing.T) {
	b := newQuietBed(t)
	m := NewMonitor(b.client())
	const evil = `"><script>alert(1)</script>` + "\u202e\x00"
	row := Row{Status: Status{
		Name: evil, Address: evil, Role: Role(evil), Znode: evil, Watched: evil, Session: evil, SessionState: evil, Timeout: 1,
		Life: 2, Cause: evil, Since: time.Now(), TrustedUntil: time.Now(), At: time.Now(),
	}, Source: byLeader, Process: &Process{State: running, Name: evil}}
	failed := row
	failed.Error = evil
	m.view = View{
		Summary: Summary{Leader: evil}, Problem: evil, Rows: []Row{row, failed}, State: evil,
		Failovers: []Failover{{From: evil, To: evil, Cause: Order(evil)}},
	}
	shown := b.get(b.site(m, open)).text
	assert.NotContains(t, shown, "<script>alert")
	assert.Contains(t, shown, "&lt;script&gt;alert(1)")
	assert.NotContains(t, shown, `/nodes/">`)
}
