package ui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// shownPage is a page, with a text that the stage puts on it.
type shownPage struct{ name, path, says string }

// at are the pages.
//
// read only
var at = []shownPage{
	{"overview", "/", "Waiting longest"},
	{"locks", "/locks", "held by web-1"},
	{"elections", "/elections", "scheduler"},
	{"barriers", "/barriers", "missing"},
	{"counters", "/counters", "90125"},
	{"services", "/services", "10.0.1.11:8443"},
	{"jobs", "/jobs", "wordcount"},
	{"members", "/members", "/shop/frontends"},
	{"rebalancers", "/rebalancers", "consumer-4"},
	{"tasks", "/tasks", "mailer-3"},
	{"sessions", "/sessions", "celery-1"},
	{"servers", "/servers", "standalone"},
	{"tree", "/tree?path=/shop/locks/catalog", "__WRIT__"},
}

// get asks for a page, and returns its text.
func get(t *testing.T, url string) (code int, text string, head http.Header) {
	t.Helper()
	client := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body), r.Header
}

// TestDashboard shows all kinds of things, made by the recipes themselves,
// without a browser and in a browser.
func TestDashboard(t *testing.T) {
	s := newStage(t)
	s.all()
	m, url := s.dashboardWith("/", &doctor.Auditor{})
	s.shows(m, func(v *ui.View) bool { return !v.Audit.At.IsZero() })
	s.shows(m, func(v *ui.View) bool {
		// A new worker is not reported as dead at once: look again until then.
		_ = s.srv.Set("/shop/counters/visits", []byte("90125"))
		jobs := v.Kinds(recognize.Job)
		return len(jobs) == 1 && len(jobs[0].Problems) == 2 // one worker has died, and one worker has failed
	})

	t.Run("is told from what the recipes write", func(t *testing.T) { golden(t, m.View()) })
	t.Run("can be read without scripts", func(t *testing.T) { readable(t, url) })
	t.Run("has an API", func(t *testing.T) { api(t, url) })
	t.Run("says the same in its API", func(t *testing.T) { same(t, m.View(), url) })
	t.Run("finds", func(t *testing.T) { finds(t, url) })
	t.Run("shows what may not be read as such", func(t *testing.T) {
		_, text, _ := get(t, url+"/tree?path=/shop/secrets")
		has(t, text, "It may not be read", "secrets")
		hasNot(t, text, "s3cr3t", "secrets")
		_, text, _ = get(t, url+"/tree?path=/shop")
		has(t, text, "⚿ not readable", "shop")
	})
	t.Run("in a browser", func(t *testing.T) { inBrowser(t, s, m, url) })
}

// golden compares the recognition of the recipes' own znodes with a file.
func golden(t *testing.T, v *ui.View) {
	var b strings.Builder
	for _, thing := range v.Things {
		fmt.Fprintf(&b, "%s %s: %s\n", thing.Kind, thing.Path, thing.State)
		for _, c := range thing.Queue {
			fmt.Fprintf(&b, "    %-12s number %d holds %t %s %v\n", c.ID, c.Seq, c.Holds, c.Role, c.Watches)
		}
		for _, p := range thing.Problems {
			fmt.Fprintf(&b, "    %s: %s\n", p.Level, p.Text)
		}
	}
	text := regexp.MustCompile(`wordcount/[0-9a-f]{16}`).ReplaceAllString(b.String(), "wordcount/<run>")
	file := filepath.Join("testdata", "things.golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "-update rewrites the file")
}

func readable(t *testing.T, url string) {
	for _, p := range at {
		code, text, head := get(t, url+p.path)
		require.Equal(t, 200, code, p.path)
		has(t, joined(text), p.says, p.path)
		has(t, text, "</html>", p.path)
		hasNot(t, text, "style=", p.path)
		assert.False(t, regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(text), p.path)
		assert.False(t, regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(text), "%s: nothing from elsewhere", p.path)
		hasNot(t, text, "ZgotmplZ", p.path)
		assert.Contains(t, head.Get("Content-Security-Policy"), "script-src 'self';")
		hasNot(t, text, "></time>", "ages are there without scripts")
	}
	code, text, _ := get(t, url+"/no/such/page")
	assert.Equal(t, 404, code)
	has(t, text, "There is no such page", "404")
	for _, path := range []string{"/tree?path=no-slash", "/tree?path=/a/../b", "/tree?path=" + "%00", "/locks?page=-7", "/locks?page=999", "/tree?path=/none"} {
		code, _, _ := get(t, url+path)
		assert.Equal(t, 200, code, path)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/locks", strings.NewReader("x"))
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	_ = answer.Body.Close()
	assert.Equal(t, 405, answer.StatusCode)
	r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/locks", nil)
	require.NoError(t, err)
	r.Host = "evil.example.org"
	answer, err = client.Do(r)
	require.NoError(t, err)
	_ = answer.Body.Close()
	assert.Equal(t, 421, answer.StatusCode)
}

func finds(t *testing.T, base string) {
	for filter, want := range map[string]string{
		"checkout": "1 of 4", "WEB-1": "1 of 4", "mutex": "2 of 4", "orphan problem": "1 of 4", "catalog report-3": "1 of 4", "nothing like that": "0 of 4",
		"wait": "4 of 4", "waiting": "4 of 4", "waits": "4 of 4", "held": "4 of 4", "free": "1 of 4", "mutex waiting web-2": "1 of 4",
	} {
		_, text, _ := get(t, base+"/locks?q="+url.QueryEscape(filter))
		has(t, text, want, filter)
	}
	for _, filter := range []string{"mailer-3", "smtp", "draining", "mail-0040", "550 mailbox", "retry-bounced"} {
		_, text, _ := get(t, base+"/tasks?q="+url.QueryEscape(filter))
		has(t, text, "1 of 1", filter)
	}
	_, text, _ := get(t, base+"/elections?q=free")
	has(t, text, "No matches", "an election is led or not")
	_, text, _ = get(t, base+"/?q=web-2")
	has(t, text, "/shop/leader/<", "search")
	_, text, _ = get(t, base+"/sessions?q=celery")
	has(t, text, "2 of ", "sessions")
	_, text, _ = get(t, base+"/tree?path=/shop/locks&q=gpus")
	has(t, text, "1 of 4 child nodes", "tree")
}

// TestProblemsOfAThingAreNotDrawnWithoutEnd.
func TestProblemsOfAThingAreNotDrawnWithoutEnd(t *testing.T) {
	s := newStage(t)
	s.put("/l", "")
	for i := range 50 {
		s.put(fmt.Sprintf("/l/_c_b6e1bacb-95aa-485f-b2a5-02692629ab%02d-lock-%010d", i, i), "x")
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 1 && len(v.Things[0].Problems) == 50 })
	_, text, _ := get(t, base+"/tree?path=/l")
	require.Equal(t, 20, strings.Count(text, ">Open /"))
	has(t, text, "30 more", "locks")
}

func TestHostileDataIsEscaped(t *testing.T) {
	s := newStage(t)
	for _, evil := range evils() {
		s.put("/evil/locks/"+evil.name, "")
		s.ephemeral("evil", "/evil/locks/"+evil.name+"/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041", evil.data)
		s.ephemeral("evil", "/evil/locks/"+evil.name+"/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000042", evil.data)
		record, _ := json.Marshal(map[string]any{"name": evil.name, "id": evil.data, "address": evil.data, "payload": evil.data, "serviceType": evil.data, "registrationTimeUTC": 1})
		s.put("/evil/services/"+evil.name+"/i", string(record[:min(len(record), 1<<19)]))
	}
	_, base := s.dashboard("/evil")
	for _, path := range []string{"/", "/locks", "/services", "/sessions", "/tree?path=/evil/locks", "/api/things", "/?q=e", "/members", "/rebalancers"} {
		code, text, _ := get(t, base+path)
		require.Equal(t, 200, code, path)
		harmless(t, path, text)
	}
	for _, evil := range evils() {
		node := "/evil/locks/" + evil.name + "/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041"
		_, text, _ := get(t, base+"/tree?path="+url.QueryEscape(node))
		harmless(t, evil.name, text)
	}
}

// TestHostileRecordsAreEscaped wherever the recipes write names and texts.
func TestHostileRecordsAreEscaped(t *testing.T) {
	s := newStage(t)
	s.all()
	set := func(path string, data []byte) {
		if err := s.srv.Set(path, data); !errors.Is(err, zktest.ErrNoNode) { // those whose records these are may go meanwhile
			require.NoError(t, err)
		}
	}
	for i, n := range s.srv.Dump() {
		evil := evils()[i%len(evils())].data
		var record map[string]any
		if json.Unmarshal(n.Data, &record) != nil {
			if len(n.Data) > 0 && n.EphemeralOwner != 0 {
				set(n.Path, []byte(evil))
			}
			continue
		}
		for key, value := range record {
			switch value.(type) {
			case string:
				if !slices.Contains([]string{"state", "mode", "step", "client", "run"}, key) {
					record[key] = evil[:min(len(evil), 1000)]
				}
			case []any:
				if key == "labels" || key == "addresses" {
					record[key] = []string{evil[:min(len(evil), 1000)]}
				}
			case map[string]any:
				record[key] = map[string]any{evil[:min(len(evil), 1000)]: evil[:min(len(evil), 1000)]}
			}
		}
		data, err := json.Marshal(record)
		require.NoError(t, err)
		set(n.Path, data)
	}
	m, base := s.dashboard("/")
	require.NotEmpty(t, m.View().Things)
	for _, p := range at {
		code, text, _ := get(t, base+p.path)
		require.Equal(t, 200, code, p.path)
		harmless(t, p.path, text)
	}
	_, text, _ := get(t, base+"/api/things")
	harmless(t, "the API", text)
}

// evils are malicious names and data.
func evils() []struct{ name, data string } {
	return []struct{ name, data string }{
		{"<script>alert(1)<\u2044script>", "<script>alert(1)</script>"},
		{`"><img src=x onerror=alert(1)>`, `"><img src=x onerror=alert(1)>`},
		{"javascript:alert(1)", "javascript:alert(1)"},
		{"{{.}}", "{{template \"nav\"}}"},
		{"abc\u202egpj", "\u202e\u2066\u200f"},
		{"binary", "\xff\x00\x01\x02\x1b[2J"},
		{"control", "line\r\ndata: x\n\nevent: update\ndata: {}"},
		{"big", strings.Repeat("<b>", 300_000)},
		{"'`&#39;${1}", "]]>--><!--"},
		{"</time>", `<time data-ago="1"></time>`},
	}
}

// joined is HTML with the digits of each number in one piece.
func joined(html string) string { return strings.ReplaceAll(html, "</span><span>", "") }

// has checks for a text, without printing all of the other.
func has(t *testing.T, text, want, what string) {
	t.Helper()
	assert.True(t, strings.Contains(text, want), "%s: %q is missing", what, want)
}

func hasNot(t *testing.T, text, bad, what string) {
	t.Helper()
	assert.False(t, strings.Contains(text, bad), "%s: there is %q", what, bad)
}

// hidden is the invisible form field with a path.
var hidden = regexp.MustCompile(`<input type="hidden"[^>]*>`) // read only

// harmless checks for forbidden content in a page.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	assert.Less(t, len(text), 200_000, what)
	text = hidden.ReplaceAllString(text, "")
	for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\u2066", "\x00", "\x1b", "<b><b>", `href="javascript:`} {
		hasNot(t, text, bad, what)
	}
}

// TestTenThousandStayFluid: pages of a large tree, and their changes, are shown
// at once.
func TestTenThousandStayFluid(t *testing.T) {
	s := newStage(t)
	for i := range 100 {
		s.put(fmt.Sprintf("/big/counters%02d", i), "")
		for k := range 100 {
			require.NoError(t, s.srv.Create(fmt.Sprintf("/big/counters%02d/n%02d", i, k), []byte{0, 0, 0, byte(k)}))
		}
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return v.Nodes > 10_000 })
	begin := time.Now()
	code, text, _ := get(t, base+"/counters")
	assert.Equal(t, 200, code)
	assert.Less(t, time.Since(begin), generous)
	has(t, text, "1 to 50 of 10\u202f000", "counters")
	assert.Less(t, len(text), 400_000)
	begin = time.Now()
	require.NoError(t, s.srv.Set("/big/counters50/n50", []byte{0, 0, 1, 0}))
	s.shows(m, func(v *ui.View) bool { return v.Of("/big/counters50/n50").State == "256" })
	assert.Less(t, time.Since(begin), generous)
	assert.Len(t, m.View().History["/big/counters50/n50"], 0, "of so many only some have a history")
}
