package ui_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// mainPart is the main part of a page.
func mainPart(t *testing.T, page string) string {
	t.Helper()
	_, text, ok := strings.Cut(page, `<main id="main"`)
	text, _, end := strings.Cut(text, "</main>")
	require.True(t, ok && end, "a page")
	return text
}

// TestPagesOfNothingSayThatThereIsNothing.
func TestPagesOfNothingSayThatThereIsNothing(t *testing.T) {
	s := newStage(t)
	_, base := s.dashboard("/")
	for _, p := range at {
		code, text, _ := get(t, base+p.path)
		require.Equal(t, 200, code, p.path)
		text = mainPart(t, text)
		switch p.name {
		case "overview":
			for _, want := range []string{"Nothing looks wrong in the tree. The servers have not been asked.", "No contender waits for a lock.", "There is no election.", "No jobs, task queues or rebalancers.", "have stayed as they were", `class="big">0<`} {
				has(t, text, want, p.path)
			}
		case "tree":
			has(t, text, "There is no such znode", p.path)
			has(t, text, `href="/tree?path=%2F"`, "the way to what is there")
		default:
			has(t, text, "No "+p.name, p.path)
			has(t, text, `<p class="try"><code dir="ltr">zkr `, p.path)
			_, text, _ = get(t, base+p.path+"?q=x")
			has(t, text, "No matches", p.path)
		}
	}
	for page, command := range map[string]string{
		"/": "zkr lock /locks/demo -- sleep 60", "/tree?path=/none": "zkr watch /none", "/tree?path=/a%20b%27%3Bc": `zkr watch &#39;/a b&#39;\&#39;&#39;;c&#39;`, "/servers": "zkr doctor",
	} {
		_, text, _ := get(t, base+page)
		has(t, text, `<p class="try"><code dir="ltr">`+command+`</code>`, page)
	}
	_, text, _ := get(t, base+"/tree?path=/%E2%80%AE")
	hasNot(t, text, "zkr watch", "a copy would be another command")
	_, below := s.dashboard("/app")
	_, text, _ = get(t, below+"/jobs")
	has(t, text, "zkr keep /app --persistent", "the root does not exist")
	has(t, text, "zkr job submit demo --workers 2 --root /app/twister2", "below the root")
	_, text, _ = get(t, base+"/tree")
	has(t, text, "0 child nodes", "the root")
	_, text, _ = get(t, base+"/api/things")
	has(t, text, `"things": []`, "the API")
	has(t, text, `"sessions": []`, "the API")
	has(t, text, `"not_readable": []`, "the API")
}

// unknown is the note since when the state is unknown: only this age grows.
var unknown = regexp.MustCompile(`(?s)<p class="unknown".*?</p>`) // read only

// TestPagesSayWhenNothingIsKnown: nothing is reported as fine, no age grows,
// and the last state is shown with its time.
func TestPagesSayWhenNothingIsKnown(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.locks()
	s.members()
	require.NoError(t, s.srv.Delete("/shop/locks/invoices/_c_0c9e66a4-7c3c-4a0b-9b5a-5c4f0f3f2d11-lock-0000000042")) // the only problem
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Kinds(recognize.Service)) == 2 })
	_, text, _ := get(t, base+"/")
	has(t, text, "Nothing looks wrong", "while it is known")
	hasNot(t, text, "data-asof", "while it is known")
	require.NoError(t, s.srv.Stop(1))
	s.shows(m, func(v *ui.View) bool { return v.Health.Stale })
	first := map[string]string{}
	ofTheTree := slices.DeleteFunc(slices.Clone(at), func(p shownPage) bool { return p.name == "servers" }) // which does not depend on the tree
	for _, p := range ofTheTree {
		_, text, _ := get(t, base+p.path)
		hasNot(t, text, "Nothing looks wrong", p.path)
		has(t, text, "ZooKeeper is away", p.path)
		first[p.path] = mainPart(t, text)
		has(t, first[p.path], "nothing has been known for", p.path)
		has(t, first[p.path], "data-asof", p.path)
	}
	has(t, first["/locks"], "held by web-1", "what was")
	age := regexp.MustCompile(`nothing has been known for <time[^>]*>([^<]*)<`)
	older := func() bool {
		_, text, _ := get(t, base+"/locks")
		return age.FindStringSubmatch(text)[1] != age.FindStringSubmatch(first["/locks"])[1]
	}
	require.Eventually(t, older, limit, 50*time.Millisecond, "this gets older")
	for _, p := range ofTheTree {
		_, text, _ := get(t, base+p.path)
		assert.Equal(t, unknown.ReplaceAllString(first[p.path], ""), unknown.ReplaceAllString(mainPart(t, text), ""), "%s: nothing else does", p.path)
	}
	var api struct {
		Stale bool
		AsOf  time.Time `json:"as_of"`
	}
	_, text, _ = get(t, base+"/api/things")
	require.NoError(t, json.Unmarshal([]byte(text), &api))
	assert.True(t, api.Stale)
	assert.WithinDuration(t, m.View().Health.AsOf, api.AsOf, 0)
	require.NoError(t, s.srv.Restart(1))
	s.shows(m, func(v *ui.View) bool { return !v.Health.Stale })
	_, text, _ = get(t, base+"/locks")
	hasNot(t, text, "nothing has been known for", "when it is back")
	hasNot(t, text, "data-asof", "when it is back")
}

// TestLockGrantedWhileZooKeeperWasAway: such a hold has no known beginning; a
// hold granted under observation has.
func TestLockGrantedWhileZooKeeperWasAway(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	name := func(n string) string { return "/l/_c_b6e1bacb-95aa-485f-b2a5-02692629ab8" + n + "-lock-000000000" + n }
	for _, n := range strings.Split("123456789", "") {
		s.put(name(n), "holder-"+n)
	}
	m, base := s.dashboard("/")
	holder := func(v *ui.View) *recognize.Contender { return v.Kinds(recognize.Mutex)[0].Holders()[0] }
	s.shows(m, func(v *ui.View) bool { return holder(v).ID == "holder-1" })
	assert.Zero(t, holder(m.View()).Since)
	found := s.lose("/")
	s.shows(m, func(v *ui.View) bool { return v.Health.Stale })
	require.NoError(t, s.srv.Delete(name("1")))
	back := time.Now()
	found()
	v := s.shows(m, func(v *ui.View) bool { return holder(v).ID == "holder-2" })
	assert.Zero(t, holder(v).Since, "granted while ZooKeeper was away")
	assert.WithinRange(t, holder(v).AtLeast, back, time.Now())
	_, text, _ := get(t, base+"/locks")
	has(t, text, " or more</span>", "it says so")
	// After the catch-up and the next look, changes are observed as they happen.
	for i := 2; holder(v).Since.IsZero(); i++ {
		require.Less(t, i, 9, "the beginning never becomes known")
		<-time.After(400 * time.Millisecond)
		begin := time.Now()
		require.NoError(t, s.srv.Delete(name(strconv.Itoa(i))))
		v = s.shows(m, func(v *ui.View) bool { return holder(v).ID == "holder-"+strconv.Itoa(i+1) })
		if since := holder(v).Since; !since.IsZero() {
			assert.WithinRange(t, since, begin, time.Now())
			assert.Zero(t, holder(v).AtLeast)
		}
	}
}

// TestAccessListsAreShownAsOfWhen, without hashes of passwords, and asked for
// again when the znode changes, on open pages as well.
func TestAccessListsAreShownAsOfWhen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.put("/n", "one")
	sess := s.session("admin")
	set := func(list []session.ACL) {
		t.Helper()
		_, stat, err := sess.ACL(s.ctx, "/n")
		require.NoError(t, err)
		_, err = sess.SetACL(s.ctx, "/n", list, stat.Aversion)
		require.NoError(t, err)
	}
	world := session.ACL{Perms: 31, Scheme: "world", ID: "anyone"}
	m, base := s.dashboard("/")
	digest := regexp.MustCompile(`data-digest="[^"]+"`)
	var text string
	require.Eventually(t, func() bool {
		_, text, _ = get(t, base+"/tree?path=/n")
		_, again, _ := get(t, base+"/tree?path=/n")
		return strings.Contains(text, "anyone") && digest.FindString(text) == digest.FindString(again)
	}, limit, time.Millisecond, "a stream that begins right after its page has no news")
	has(t, text, "as of", "at first")
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/live/tree?path=/n", nil)
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	live := reader(answer.Body)
	live.until(t, "anyone")
	set([]session.ACL{world, {Perms: 1, Scheme: "digest", ID: "ann:Yd3Vn2M4UzZGyB1Zl6lCzmb4hK0="}})
	require.Eventually(t, func() bool {
		_, text, _ = get(t, base+"/tree?path=/n")
		hasNot(t, text, "Yd3Vn2M4", "the hash")
		return strings.Contains(text, "digest:ann")
	}, limit, 100*time.Millisecond, "a new page asks again")
	require.NoError(t, s.srv.Set("/n", []byte("two")))
	s.shows(m, func(v *ui.View) bool { n, _ := v.Lookup("/n"); return string(n.Data) == "two" })
	assert.NotContains(t, live.until(t, "digest:ann"), "Yd3Vn2M4", "and so does an open page, when the znode changes")
}

// TestUnreadableZnodesAreShownAsSuch on each page with unreadable znodes, and in
// JSON.
func TestUnreadableZnodesAreShownAsSuch(t *testing.T) {
	s := newStage(t)
	s.put("/shop", "")
	s.secrets()
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Denied) == 1 })
	for path, want := range map[string]string{
		"/": "1 may not be read", "/tree?path=/shop": "⚿ not readable", "/tree?path=/shop/secrets": "It may not be read", "/api/things": `"/shop/secrets"`,
	} {
		_, text, _ := get(t, base+path)
		has(t, text, want, path)
		hasNot(t, text, "s3cr3t", path)
	}
}

// TestFiltersThatAreTooLongAreRefused with words, on pages, streams and for programs.
func TestFiltersThatAreTooLongAreRefused(t *testing.T) {
	s := newStage(t)
	s.put("/c", "5")
	_, base := s.dashboard("/")
	for filter, want := range map[string]string{
		strings.Repeat("xyz", 5000): "The filter is too long: 200 bytes at most.", "a b c d e f g h i": "The filter has too many words: 8 at most.",
	} {
		query := "?q=" + url.QueryEscape(filter)
		for _, p := range at {
			code, text, _ := get(t, base+strings.Split(p.path, "?")[0]+query)
			assert.Equal(t, 400, code, p.path)
			has(t, mainPart(t, text), want, p.path)
			assert.Less(t, len(text), 20_000, "a too long text is not repeated")
		}
		code, text, _ := get(t, base+"/api/things"+query)
		assert.Equal(t, 400, code)
		assert.Equal(t, want, strings.TrimSpace(text))
	}
	code, _, _ := get(t, base+"/locks?q="+strings.Repeat("x", 200))
	assert.Equal(t, 200, code)
}

// TestMissingPathsLeadToExistingZnodes: a path may be as long as a request, but its
// page is not.
func TestMissingPathsLeadToExistingZnodes(t *testing.T) {
	s := newStage(t)
	s.put("/a/b/c", "")
	_, base := s.dashboard("/a")
	for path, up := range map[string]string{
		"/a/b/c/d/e":                        "%2Fa%2Fb%2Fc",
		"/a/x":                              "%2Fa",
		"/elsewhere/b":                      "%2Fa",
		"/a/b" + strings.Repeat("/x", 4000): "%2Fa%2Fb",
	} {
		_, text, _ := get(t, base+"/tree?path="+path)
		has(t, text, "There is no such znode", up)
		has(t, text, `<a rel="up" href="/tree?path=`+up+`"`, up)
		assert.Less(t, len(text), 60_000)
	}
}

// TestPagesFromElsewhereGetNothing of the dashboard either.
func TestPagesFromElsewhereGetNothing(t *testing.T) {
	s := newStage(t)
	_, base := s.dashboard("/")
	for _, path := range []string{"/", "/live/locks", "/api/things"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		require.NoError(t, err)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "no-cors")
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		assert.Equal(t, http.StatusForbidden, answer.StatusCode, path)
	}
}

// follower reads a stream.
type follower struct{ lines *bufio.Scanner }

func reader(r io.Reader) follower {
	f := follower{bufio.NewScanner(r)}
	f.lines.Buffer(nil, 1<<20)
	return f
}

// until reads up to the line with a text.
func (f follower) until(t *testing.T, text string) (line string) {
	t.Helper()
	for f.lines.Scan() {
		if strings.Contains(f.lines.Text(), text) {
			return f.lines.Text()
		}
	}
	t.Fatalf("the stream ends without %q: %v", text, f.lines.Err())
	return ""
}
