package ui_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// rowPath finds the paths of the rows of a page.
var rowPath = regexp.MustCompile(`<article class="entry" data-item data-href="/tree\?path=([^"]*)"`) // read only

// rows are the last elements of the paths of a page's rows.
func rows(text string) (out []string) {
	for _, m := range rowPath.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1][strings.LastIndex(m[1], "%2F")+3:])
	}
	return out
}

// contend puts a lock with contenders on the stage; the first of them holds.
func (s *stage) contend(path string, ids ...string) {
	s.Helper()
	s.put(path, "")
	for i, id := range ids {
		s.ephemeral("actor", fmt.Sprintf("%s/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", path, i, i), id)
	}
}

// TestTableOfLocksIsSortedAndNarrowed, by links alone.
func TestTableOfLocksIsSortedAndNarrowed(t *testing.T) {
	s := newStage(t)
	s.contend("/l/b-first-waited", "h", "w1")
	s.contend("/l/c-most-waiters", "h", "w1", "w2", "w3")
	s.contend("/l/a-held", "h")
	s.contend("/l/d-stuck", "h")
	s.put("/l/d-stuck/_c_b6e1bacb-95aa-485f-b2a5-026926299999-lock-0000000009", "orphan")
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Kinds(recognize.Mutex)) == 4 })
	page := func(query string) string {
		code, text, _ := get(t, base+"/locks"+query)
		require.Equal(t, 200, code)
		return text
	}
	const a, b, c, d = "a-held", "b-first-waited", "c-most-waiters", "d-stuck"
	for query, want := range map[string][]string{
		"":                             {d, b, c, a},
		"?sort=path":                   {a, b, c, d},
		"?sort=path&dir=desc":          {d, c, b, a},
		"?sort=waiting":                {c, b, d, a},
		"?sort=waiting&dir=asc":        {a, b, d, c},
		"?sort=nonsense&dir=x":         {d, b, c, a},
		"?state=waiting":               {d, b, c},
		"?state=problem":               {d},
		"?state=free":                  nil,
		"?state=nonsense":              {d, b, c, a},
		"?state=waiting&q=first":       {b},
		"?state=waiting&sort=path":     {b, c, d},
		"?state=waiting&q=a-held":      nil,
		"?q=waiting&sort=path&page=77": {b, c, d},
	} {
		assert.Equal(t, want, rows(page(query)), query)
	}
	text := page("")
	for _, facet := range []string{"all <b>4</b>", "problem <b>1</b>", "held <b>4</b>", "waiting <b>3</b>", "free <b>0</b>"} {
		has(t, text, facet, "facets")
	}
	has(t, page("?q=c-most"), "waiting <b>1</b>", "facets count what matches")
	has(t, page("?state=free"), "No matches", "an empty facet")
	text = page("?q=l&sort=waiting&state=waiting")
	has(t, text, `href="?dir=asc&amp;q=l&amp;sort=waiting&amp;state=waiting"`, "a second click turns the order around")
	has(t, text, `href="?dir=desc&amp;q=l&amp;sort=waiting&amp;state=held"`, "a facet keeps the order and the filter")
	for name, value := range map[string]string{"sort": "waiting", "dir": "desc", "state": "waiting"} {
		has(t, text, `<input type="hidden" name="`+name+`" value="`+value+`">`, "the form of the filter keeps it")
	}
}

// crowdedLocks is how many locks the pages are made for.
const crowdedLocks = 10_000

// TestTenThousandLocksFitOnAPage: a page is small, names its parts by numbers, and is
// painted soon.
func TestTenThousandLocksFitOnAPage(t *testing.T) {
	s := newStage(t)
	s.put("/production/eu-west-1/locks/customers", "")
	for i := range crowdedLocks {
		path := fmt.Sprintf("/production/eu-west-1/locks/customers/customer-%05d", i)
		require.NoError(t, s.srv.Create(path, nil))
		for k := range 1 + 20*(i%100)/99 {
			s.ephemeral("actor", fmt.Sprintf("%s/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", path, k, k), fmt.Sprintf("billing-worker-%d.eu-west-1", k))
		}
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Kinds(recognize.Mutex)) == crowdedLocks })
	for _, query := range []string{"", "?sort=waiting", "?sort=longest&page=50", "?state=waiting&q=worker", "?sort=path&dir=desc&page=100"} {
		begin := time.Now()
		code, text, _ := get(t, base+"/locks"+query)
		require.Equal(t, 200, code)
		t.Logf("/locks%s: %d bytes in %v", query, len(text), time.Since(begin))
		assert.Less(t, len(text), 300_000, query)
		assert.Len(t, rows(text), 100, query)
	}
	_, text, _ := get(t, base+"/locks?sort=longest&page=50")
	numbers := regexp.MustCompile(`<a href="\?[^"]*page=(\d+)[^"]*"`).FindAllStringSubmatch(text, -1)
	got := make([]string, 0, len(numbers))
	for _, n := range numbers {
		got = append(got, n[1])
	}
	assert.Equal(t, strings.Fields("49 1 2 48 49 50 51 52 99 100 51"), got)
	has(t, text, `aria-current="page">50</a>`, "the present part")
	t.Run("in a browser", func(t *testing.T) { paints(t, browser.Require(t), base) })
}

// paints measures the first contentful paint of the page of locks until one takes less than a
// second. On a machine that is busy with other work a page without a lock takes long, too.
func paints(t *testing.T, b *browser.Browser, base string) {
	p := b.Page(t, 1280, 800)
	paint := func(query string) float64 {
		p.Open(base + "/locks" + query)
		p.Until("performance.getEntriesByName('first-contentful-paint').length > 0")
		ms, err := strconv.ParseFloat(p.Eval("performance.getEntriesByName('first-contentful-paint')[0].startTime"), 64)
		require.NoError(t, err)
		t.Logf("%s: first contentful paint after %.0f ms", query, ms)
		return ms
	}
	paint("?q=no-lock-is-called-so") // the first page of a browser takes longer than others
	for range 20 {
		empty, full := paint("?q=no-lock-is-called-so"), paint("?sort=waiting")
		if full < max(1000, 3*empty) {
			return
		}
	}
	t.Error("none of the paints took less than a second, or than three paints of a page without a lock")
}
