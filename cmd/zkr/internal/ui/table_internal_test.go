package ui

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// TestTableIsSortedByAges: the longest hold or wait comes first, and things without one
// come last in both directions.
func TestTableIsSortedByAges(t *testing.T) {
	now := time.Now()
	ago := func(s int) time.Time { return now.Add(-time.Duration(s) * time.Second) }
	thing := func(path string, held int, waits ...int) row {
		t := &recognize.Thing{Kind: recognize.Mutex, Path: path}
		if held > 0 {
			t.Queue = append(t.Queue, &recognize.Contender{Holds: true, AtLeast: ago(held)})
		}
		for _, s := range waits {
			t.Queue = append(t.Queue, &recognize.Contender{Entered: ago(s)})
		}
		return newRow(t)
	}
	rows := []row{thing("/a", 0), thing("/b", 5, 1, 9), thing("/c", 7), thing("/d", 0, 20), thing("/e", 6, 3)}
	sorted := func(o order) (out string) {
		all := slices.Clone(rows)
		slices.SortFunc(all, func(a, b row) int { return o.compareRows(&a, &b) })
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
