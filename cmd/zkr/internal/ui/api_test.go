package ui_test

import (
	"encoding/json"
	"fmt"
	"html"
	neturl "net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

func api(t *testing.T, url string) {
	var got struct {
		Root   string
		Loaded bool
		Stale  bool
		Nodes  int      `json:"znodes"`
		Denied []string `json:"not_readable"`
		Things []struct {
			Kind, Path, State string
			Queue             []struct {
				ID, Session string
				Holds       bool
			}
			Problems []struct{ Level, Text string }
		}
		Sessions []struct {
			Session string
			Names   []string
		}
	}
	_, text, head := get(t, url+"/api/things?q=locks/checkout")
	assert.Equal(t, "application/json", head.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Len(t, got.Things, 1)
	assert.Equal(t, "mutex", got.Things[0].Kind)
	assert.Equal(t, "held by web-1, 3 wait", got.Things[0].State)
	require.Len(t, got.Things[0].Queue, 4)
	assert.True(t, got.Things[0].Queue[0].Holds)
	assert.Regexp(t, "^0x[0-9a-f]+$", got.Things[0].Queue[0].Session)
	assert.Equal(t, "/", got.Root)
	assert.True(t, got.Loaded)
	assert.False(t, got.Stale)
	assert.Equal(t, []string{"/shop/secrets"}, got.Denied)
	assert.Greater(t, len(got.Sessions), 20)
	assert.Greater(t, got.Nodes, 200)
}

// pageOf is the page for things of a kind.
func pageOf(kind recognize.Kind) string {
	for path, kinds := range map[string][]recognize.Kind{
		"/locks": {recognize.Mutex, recognize.RWLock, recognize.Semaphore}, "/elections": {recognize.Election},
		"/barriers": {recognize.Barrier, recognize.Double, recognize.Gate}, "/counters": {recognize.Counter, recognize.Value},
		"/services": {recognize.Service}, "/members": {recognize.Group}, "/jobs": {recognize.Job}, "/rebalancers": {recognize.Rebalancer}, "/tasks": {recognize.Tasks, recognize.Queue},
	} {
		if slices.Contains(kinds, kind) {
			return path
		}
	}
	return ""
}

// words are the visible words of a page.
func words(page string) string {
	text := regexp.MustCompile(`<(script|style)[^>]*>.*?</(script|style)>|<[^>]*>`).ReplaceAllString(page, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// told is a thing as described to programs.
type told struct {
	Kind, Path, State string
	Problems          []struct{ Text string }
	Queue             []struct {
		ID    string
		Token int64 `json:",string"`
		Holds bool
	}
	Number *struct {
		Value int64 `json:",string"`
	}
	Members []struct{ ID, Address string }
	Meeting *struct{ Here, Inside []struct{ ID string } }
	Job     *struct {
		Running, Left, Dead, Failed, Missing int
		Workers                              []struct{ Name, State string }
	}
	Tasks *struct {
		Counts  map[string]int
		Workers []struct{ Name string }
	}
	Shares *struct {
		Members   []struct{ ID string }
		Resources []string
	}
}

// words are the words required on a page with the thing.
func (d told) words() (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	up := d.Path[:strings.LastIndexByte(d.Path, '/')+1]
	say("%s", d.Kind)
	say("%s %s", up, strings.TrimPrefix(d.Path, up))
	for _, p := range d.Problems {
		say("%s", p.Text)
	}
	if d.Number != nil {
		say("%d", d.Number.Value)
	} else {
		say("%s", d.State) // the state of a counter is its number
	}
	for _, c := range d.Queue {
		say("%s", c.ID)
		if c.Holds {
			say("token %d", c.Token)
		}
	}
	for _, m := range d.Members {
		out = append(out, m.ID, m.Address)
	}
	if d.Meeting != nil {
		for _, m := range slices.Concat(d.Meeting.Here, d.Meeting.Inside) {
			say("%s", m.ID)
		}
	}
	if j := d.Job; j != nil {
		say("%d running %d left %d dead %d failed %d missing", j.Running, j.Left, j.Dead, j.Failed, j.Missing)
		for _, w := range j.Workers {
			out = append(out, w.State+" "+w.Name)
		}
	}
	return append(out, d.shared()...)
}

// shared are the words for participants that share tasks or resources.
func (d told) shared() (out []string) {
	if q := d.Tasks; q != nil {
		for state, n := range q.Counts {
			if n > 0 {
				out = append(out, fmt.Sprintf("%d %s", n, state))
			}
		}
		for _, w := range q.Workers {
			out = append(out, w.Name)
		}
	}
	if s := d.Shares; s != nil {
		for _, m := range s.Members {
			out = append(out, m.ID)
		}
		out = append(out, s.Resources...)
	}
	return out
}

// same compares the API with the pages: each thing is on the page of its kind,
// with its state and all its participants.
func same(t *testing.T, v *ui.View, url string) {
	var doc struct {
		Nodes    int `json:"znodes"`
		Things   []told
		Sessions []struct {
			Session string
			Names   []string
		}
	}
	_, text, _ := get(t, url+"/api/things")
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	require.Len(t, doc.Things, len(v.Things))
	require.Len(t, doc.Sessions, len(v.Sessions))
	require.Equal(t, v.Nodes, doc.Nodes)
	pages := map[string]string{}
	for _, p := range at {
		_, text, _ := get(t, url+p.path)
		pages[p.path] = words(joined(mainPart(t, text)))
	}
	for _, d := range doc.Things {
		shown := pages[pageOf(recognize.Kind(d.Kind))]
		if len(d.Queue) > 0 { // a row of a table, and a page of its own with the queue
			has(t, shown, d.State, d.Path)
			_, text, _ := get(t, url+"/tree?path="+neturl.QueryEscape(d.Path))
			shown += words(joined(mainPart(t, text)))
		}
		if d.Kind == string(recognize.Job) || d.Kind == string(recognize.Service) { // their lists have the workers and the instances
			_, text, _ := get(t, url+pageOf(recognize.Kind(d.Kind))+"?path="+neturl.QueryEscape(d.Path))
			shown += words(joined(mainPart(t, text)))
		}
		for _, want := range d.words() {
			has(t, shown, want, d.Path)
		}
	}
	for _, s := range doc.Sessions {
		for _, want := range append(s.Names, s.Session) {
			has(t, pages["/sessions"], want, "sessions")
		}
	}
}
