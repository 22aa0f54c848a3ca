package ui

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// TestTableIsSortedByAges: the longest hold or wait comes first, and things without one
// come last in both directions.
func TestTableIsSortedByAges(t *testing.T) {
	now := time.Now()
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	thing := func(path string, held int, waits ...int) *row {
		t := &recognize.Thing{Kind: recognize.Mutex, Path: path}
		if held > 0 {
			t.Queue = append(t.Queue, &recognize.Contender{Holds: true, AtLeast: ago(held)})
		}
		for _, s := range waits {
			t.Queue = append(t.Queue, &recognize.Contender{Entered: ago(s)})
		}
		return newRow(t)
	}
	rows := []*row{thing("/a", 0), thing("/b", 5, 1, 9), thing("/c", 7), thing("/d", 0, 20), thing("/e", 6, 3)}
	sorted := func(o order) (out string) {
		all := slices.Clone(rows)
		slices.SortFunc(all, func(a, b *row) int { return a.compareTo(b, o) })
		for _, r := range all {
			out += r.Path[1:]
		}
		return out
	}
	assert.Equal(t, "cebad", sorted(order{By: sortHeld}))
	assert.Equal(t, "becad", sorted(order{By: sortHeld, Up: true}))
	assert.Equal(t, "dbeac", sorted(order{By: sortLongest}))
	assert.Equal(t, "ebdac", sorted(order{By: sortLongest, Up: true}))
	assert.Equal(t, "bdeac", sorted(order{By: sortWaiting}))
	assert.Equal(t, "acdeb", sorted(order{By: sortWaiting, Up: true}))
	assert.Equal(t, "bdeac", sorted(order{}), "as before: things without waiters last")
}

// TestAddressesKeepOnlyParametersWithAValue: one rule for links, forms and moments.
func TestAddressesKeepOnlyParametersWithAValue(t *testing.T) {
	q := &question{}
	assert.Equal(t, "?", q.link())
	assert.Equal(t, "?page=3", q.PageLink(3))
	assert.Empty(t, q.hidden())
	assert.Empty(t, q.Kept())
	q = &question{Filter: "a b", Path: "/q&", Facet: facetWaited, Order: order{By: sortSince}}
	assert.Equal(t, "?dir=desc&path=%2Fq%26&q=a+b&sort=since&state=waiting", q.link())
	assert.Equal(t, "?at=12%3A00&dir=desc&path=%2Fq%26&q=a+b&sort=since&state=waiting", q.MomentLink("12:00"))
	assert.Equal(t, "?dir=desc&path=%2Fq%26&q=a+b&sort=since", q.link("state", ""))
	assert.Equal(t, map[string]string{"path": "/q&", "state": "waiting", "sort": "since", "dir": "desc"}, q.hidden())
	assert.Len(t, q.Kept(), 5)
}

// TestTasksOfAListHaveTheirActions, if users may change something.
func TestTasksOfAListHaveTheirActions(t *testing.T) {
	for state, want := range map[string]string{
		"waiting": "do=cancel&amp;item=a%26b&amp;path=%2Fq", "assigned": "do=cancel", "dead": "do=requeue", "failed": "do=requeue", "canceled": "do=requeue", "done": "", "unreadable": "", "newer": "",
	} {
		l := &taskLine{ListedTask: recognize.ListedTask{Task: recognize.Task{Path: "/q/tasks/00/x", State: state, Whole: "a&b"}}, Queue: "/q"}
		for _, acts := range []bool{false, true} {
			d := &drawing{View: &View{}, Acts: acts}
			html := string(d.renderBlock("taskline", "", l).HTML)
			require.NoError(t, d.err)
			assert.Equal(t, acts && want != "", strings.Contains(html, `href="/act?`), state)
			if acts {
				assert.Contains(t, html, want, state)
			}
		}
	}
}

// TestTextOnARowIsBounded, whatever its characters become.
func TestTextOnARowIsBounded(t *testing.T) {
	for _, c := range []string{"short", strings.Repeat("x", 500), strings.Repeat("\u202e", 500), strings.Repeat("\U000e0001", 500), strings.Repeat("\xff", 500), strings.Repeat("e\u0301", 500)} {
		for _, data := range []any{c, []byte(c)} {
			got := brief(120, data)
			assert.LessOrEqual(t, utf8.RuneCountInString(got), 121, "%.20q", c)
			assert.Equal(t, c == "short", got == "short")
		}
	}
}

func TestCommandsQuoteForeignNames(t *testing.T) {
	assert.Equal(t, "/locks/a-1", shellWord("/locks/a-1"))
	assert.Equal(t, `'/a b;$(rm -rf ~)'`, shellWord("/a b;$(rm -rf ~)"))
	assert.Equal(t, `'it'\''s'`, shellWord("it's"))
	assert.Equal(t, "'-rf'", shellWord("-rf"), "no flag")
	assert.Equal(t, "''", shellWord(""))
	assert.Equal(t, "zkr service register web --id demo-1 --address 127.0.0.1 --port 8080 -- sleep 60", registerCommand("/services/web"))
	assert.Equal(t, "zkr service register web --id demo-1 --address 127.0.0.1 --port 8080 --base / -- sleep 60", registerCommand("/web"))
	assert.Equal(t, "zkr job submit demo --workers 2 --root /app/twister2", submitCommand("/app"))
}

func TestPagesOfALongListAreNumbered(t *testing.T) {
	for _, c := range []struct {
		page, pages int
		want        []int
	}{
		{1, 1, []int{1}}, {1, 3, []int{1, 2, 3}}, {1, 9, []int{1, 2, 3, 0, 8, 9}},
		{5, 9, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}}, {50, 100, []int{1, 2, 0, 48, 49, 50, 51, 52, 0, 99, 100}},
	} {
		assert.Equal(t, c.want, paging{Page: c.page, Pages: c.pages}.Numbers(), c)
	}
}
