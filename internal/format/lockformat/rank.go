package lockformat

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// RankSuffix makes, of the path of an election, that of the container in which candidates with
// a priority wait: each has an ephemeral sequential znode there, "_c_<uuid>-<priority>-rank-
// <number>", with the candidate's data. This library's alone.
const RankSuffix = ".ranked"

// RankMarker is the marker in the names of these znodes.
const RankMarker = "rank-"

// MaxPriority is the highest priority.
const MaxPriority = 1_000_000

// Rank is the place of a candidate with a priority among all of these; the zero Rank is that of
// a candidate without a priority.
type Rank struct {
	Priority int
	// Number is that of the znode below RankSuffix.
	Number int32
}

// Better reports whether r comes before the other rank: by its priority, and else by its
// number.
func (r Rank) Better(than Rank) bool {
	if r.Priority != than.Priority {
		return r.Priority > than.Priority
	}
	return r.Number < than.Number
}

// PlaceName is a new name, without the number, of a znode below RankSuffix.
func PlaceName(priority int) string {
	return znode.Protected(strconv.Itoa(priority) + "-" + RankMarker)
}

// ParsePlace reads the rank of the znode called name below RankSuffix; false for another name.
func ParsePlace(name string) (Rank, bool) {
	head, ok := strings.CutSuffix(znode.Unnumbered(name), "-"+RankMarker)
	number, err := znode.Sequence(name)
	if !ok || err != nil {
		return Rank{}, false
	}
	priority, ok := parseCount(head[strings.LastIndexByte(head, '-')+1:], MaxPriority)
	return Rank{priority, number}, ok && priority > 0
}

// ComparePlaces is the order of the names of znodes below RankSuffix: the best rank first, and
// names without a rank last.
func ComparePlaces(a, b string) int {
	x, _ := ParsePlace(a)
	y, _ := ParsePlace(b)
	switch {
	case x.Better(y):
		return -1
	case y.Better(x):
		return 1
	}
	return strings.Compare(a, b)
}

// RankText stands in the name of a candidate with a priority in the queue, before the marker:
// "_c_<uuid>-<priority>.<number>-latch-<number>".
func (r Rank) RankText() string { return fmt.Sprintf("%d.%d", r.Priority, r.Number) }

// RankOf reads the rank in the name of a candidate in the queue; the zero Rank if it has none.
func RankOf(name, marker string) Rank {
	_, r := CutRank(strings.TrimSuffix(znode.Unnumbered(name), marker))
	return r
}

// CutRank cuts the rank from what stands before the marker in a candidate's name.
func CutRank(before string) (rest string, r Rank) {
	head := strings.TrimSuffix(before, "-")
	at := strings.LastIndexByte(head, '-')
	if at < 0 {
		return before, Rank{}
	}
	left, right, ok := strings.Cut(head[at+1:], ".")
	priority, isPriority := parseCount(left, MaxPriority)
	number, isNumber := parseCount(right, 1<<31-2)
	if !ok || !isPriority || !isNumber || priority == 0 {
		return before, Rank{}
	}
	// A protected name has a dash behind the id, Kazoo's has none.
	return head[:at] + before[len(head):], Rank{priority, int32(number)}
}

// parseCount reads a number from 0 to most, in its shortest spelling.
func parseCount(text string, most int64) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return int(n), err == nil && n >= 0 && n <= most && strconv.FormatInt(n, 10) == text
}
