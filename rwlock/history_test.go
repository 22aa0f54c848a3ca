package rwlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// hold is a time during which a client believed to hold the lock.
type hold struct {
	client    int
	session   int64
	exclusive bool
	token     int64
	asked     time.Time // when it was asked for
	from      time.Time // when it was granted
	to        time.Time // when it was given back or known to be lost, whatever came first
	// downgraded is from when on a writer's place was a reader's; zero if it
	// never was. until is when that Downgrade returned.
	downgraded, until time.Time
}

func (h hold) String() string {
	kind := "reads"
	if h.exclusive {
		kind = "writes"
	}
	if !h.downgraded.IsZero() {
		kind += " until " + h.downgraded.Format("04:05.000000")
	}
	return fmt.Sprintf("client %d session %#x token %d %s: %s to %s", h.client, h.session, h.token, kind,
		h.from.Format("04:05.000000"), h.to.Format("04:05.000000"))
}

// alone is the time until which no other client may hold the lock.
func (h hold) alone() time.Time {
	switch {
	case !h.exclusive:
		return h.from
	case !h.downgraded.IsZero() && h.downgraded.Before(h.to):
		return h.downgraded
	}
	return h.to
}

var (
	errShared = fmt.Errorf("%w: a hold overlaps a writer's", world.ErrBroken)
	errToken  = errors.New("the tokens of two that exclude each other are not in the order of the grants")
	errQueue  = errors.New("granted although an earlier contender excludes it")
)

// checkSharing requires that no other hold overlaps a writer's. Ends count
// before beginnings of the same instant. A writer that downgrades keeps other
// writers out all the time, also while the outcome of the downgrade is unknown.
func checkSharing(holds []hold) error {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			from := b.from
			if a.from.After(from) {
				from = a.from
			}
			together := func(aTo, bTo time.Time) bool { return from.Before(aTo) && from.Before(bTo) }
			if together(a.alone(), b.to) || together(a.to, b.alone()) {
				return fmt.Errorf("%w:\n%v\n%v", errShared, a, b)
			}
		}
	}
	return nil
}

// checkTokens wants the tokens of holds that exclude each other to be in the
// order in which they were granted. A lock that is lost by the time at which it
// is granted counts, too.
func checkTokens(holds []hold) error {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if !a.exclusive && !b.exclusive {
				continue
			}
			if a.from.Before(b.from) && a.token >= b.token || b.from.Before(a.from) && b.token >= a.token {
				return fmt.Errorf("%w:\n%v\n%v", errToken, a, b)
			}
		}
	}
	return nil
}

// checkQueue requires that no name before own, among the names on the server,
// excludes own: no reader passes an earlier writer, and no writer passes any
// contender. checkQueue knows only the positions of the number and the letters
// in a name.
func checkQueue(children []string, own string, exclusive bool) error {
	number := func(name string) int {
		n, err := strconv.Atoi(name[len(name)-10:])
		if err != nil {
			panic(err)
		}
		return n
	}
	if !slices.Contains(children, own) {
		return nil // it was lost already
	}
	for _, name := range children {
		writes := strings.Contains(name, "__WRIT__")
		if name != own && number(name) <= number(own) && (writes || exclusive) {
			return fmt.Errorf("%w: %s is before %s", errQueue, name, own)
		}
	}
	return nil
}

// lockState is porcupine's view of the lock. Readers has the readers that hold
// the lock, as a sorted list of numbers.
type lockState struct {
	writer  int // -1: none
	readers string
	granted int // how many ever were
	wrote   int // how many of these were writers
}

// lockStep is something that happens to it.
type lockStep struct {
	kind string // "read", "write", "leave", "downgrade"
	by   int    // which hold
	// before is the number of holds with a smaller token, writersBefore the
	// number of writers among these: no reader passes a writer, and no writer
	// passes any contender.
	before, writersBefore int
}

func (s lockState) with(by int) string {
	list := append(strings.Fields(s.readers), strconv.Itoa(by))
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (s lockState) without(by int) (string, bool) {
	list := strings.Fields(s.readers)
	i := slices.Index(list, strconv.Itoa(by))
	if i < 0 {
		return s.readers, false
	}
	return strings.Join(slices.Delete(list, i, i+1), " "), true
}

// step is the model of a lock: it applies one step, and reports whether a lock may
// take it.
func (s lockState) step(in lockStep) (bool, lockState) {
	next := s
	switch in.kind {
	case "read":
		next.readers, next.granted = s.with(in.by), s.granted+1
		return s.writer < 0 && s.wrote == in.writersBefore, next
	case "write":
		next.writer, next.granted, next.wrote = in.by, s.granted+1, s.wrote+1
		return s.writer < 0 && s.readers == "" && s.granted == in.before, next
	case "downgrade":
		next.writer, next.readers = -1, s.with(in.by)
		return s.writer == in.by, next
	}
	if s.writer == in.by {
		next.writer = -1
		return true, next
	}
	var ok bool
	next.readers, ok = s.without(in.by)
	return ok, next
}

// checkLinear wants the history to be that of one lock that serves in the order
// of the tokens: a grant takes effect between the call and its return, an end
// when it was asked for, or learned of. That is the best that it can do for
// others, and leaves little to search: in virtual time no search can be bounded
// by a clock.
func checkLinear(holds []hold) error {
	if len(holds) == 0 {
		return nil
	}
	model := porcupine.Model{
		Init: func() any { return lockState{writer: -1} },
		Step: func(state, input, _ any) (bool, any) {
			ok, next := state.(lockState).step(input.(lockStep))
			return ok, next
		},
	}
	start := slices.MinFunc(holds, func(a, b hold) int { return a.asked.Compare(b.asked) }).asked
	// Twice the time, so that ends come before beginnings of the same instant.
	call := func(t time.Time) int64 { return 2 * int64(t.Sub(start)) }
	var ops []porcupine.Operation
	add := func(in lockStep, from, to int64) {
		ops = append(ops, porcupine.Operation{ClientId: len(ops), Input: in, Call: from, Return: to})
	}
	for i, h := range holds {
		take := lockStep{kind: map[bool]string{true: "write", false: "read"}[h.exclusive], by: i}
		for _, other := range holds {
			if other.token < h.token {
				take.before++
				if other.exclusive {
					take.writersBefore++
				}
			}
		}
		add(take, call(h.asked), call(h.from)+1)
		if !h.downgraded.IsZero() && h.downgraded.Before(h.to) {
			add(lockStep{kind: "downgrade", by: i}, call(h.downgraded), call(h.until)+1)
		}
		add(lockStep{kind: "leave", by: i}, call(h.to), call(h.to)+1)
	}
	if !porcupine.CheckOperations(model, ops) {
		return world.ErrOrder
	}
	return nil
}

// Each checker must notice what it is for.

func at(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * float64(time.Second))) }

func goodHistory() []hold {
	return []hold{
		{client: 1, token: 10, asked: at(0), from: at(1), to: at(3)},
		{client: 2, token: 11, asked: at(0), from: at(1.5), to: at(4)},
		{client: 3, token: 12, exclusive: true, asked: at(0), from: at(4), to: at(5)},
		{client: 2, token: 20, exclusive: true, asked: at(4), from: at(5), to: at(9), downgraded: at(6), until: at(6.5)},
		{client: 3, token: 21, asked: at(5), from: at(6), to: at(8)},
		{client: 1, token: 22, exclusive: true, asked: at(5), from: at(9), to: at(9)},
	}
}

func TestCheckersAcceptAGoodHistory(t *testing.T) {
	h := goodHistory()
	require.NoError(t, checkSharing(h))
	require.NoError(t, checkTokens(h))
	require.NoError(t, checkLinear(h))
	require.NoError(t, checkLinear(nil))
	require.NoError(t, checkQueue([]string{"a__READ__0000000001", "b__READ__0000000002", "c__WRIT__0000000003"}, "b__READ__0000000002", false))
	require.NoError(t, checkQueue([]string{"b__READ__0000000002", "c__WRIT__0000000001"}, "c__WRIT__0000000001", true))
	require.NoError(t, checkQueue([]string{"c__WRIT__0000000001"}, "gone__READ__0000000002", false))
}

func TestCheckersNoticeAReaderBesideAWriter(t *testing.T) {
	h := goodHistory()
	h[1].to = at(4.5)
	require.ErrorIs(t, checkSharing(h), errShared)
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
	h = goodHistory()
	h[4].from = at(5.9) // before the downgrade
	require.ErrorIs(t, checkSharing(h), errShared)
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
}

func TestCheckersNoticeTwoWriters(t *testing.T) {
	h := goodHistory()
	h[2].to = at(5.1)
	require.ErrorIs(t, checkSharing(h), errShared)
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
}

func TestCheckersNoticeAWriterBesideADowngradedOne(t *testing.T) {
	h := goodHistory()
	h[5].from, h[5].to = at(8.5), at(8.6)
	require.ErrorIs(t, checkSharing(h), errShared)
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
	h = goodHistory()
	h[3].until, h[4].from = at(7.9), at(7) // in doubt
	h[5].from, h[5].to = at(6.5), at(6.6)
	require.ErrorIs(t, checkSharing(h), errShared)
}

func TestCheckersNoticeTokensOutOfOrder(t *testing.T) {
	h := goodHistory()
	h[4].token = 30
	require.ErrorIs(t, checkTokens(h), errToken, "a later writer has 22")
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
	h = goodHistory()
	h[3].token = 12
	require.ErrorIs(t, checkTokens(h), errToken)
	require.ErrorIs(t, checkLinear(h), world.ErrOrder)
	h = goodHistory()
	h[0].token, h[1].token = 11, 10 // readers do not exclude each other
	require.NoError(t, checkTokens(h))
	require.NoError(t, checkLinear(h))
}

func TestCheckersNoticeGrantsOutOfTurn(t *testing.T) {
	queue := []string{"a__READ__0000000001", "b__WRIT__0000000002", "c__READ__0000000003", "d__WRIT__0000000004"}
	require.NoError(t, checkQueue(queue, queue[0], false))
	require.ErrorIs(t, checkQueue(queue, queue[1], true), errQueue)
	require.ErrorIs(t, checkQueue(queue, queue[2], false), errQueue)
	require.ErrorIs(t, checkQueue(queue, queue[3], true), errQueue)
	require.ErrorIs(t, checkQueue([]string{"a__READ__0000000001", "b__WRIT__0000000002"}, "b__WRIT__0000000002", true), errQueue)
	require.ErrorIs(t, checkQueue([]string{"a__READ__0000000002", "b__WRIT__0000000002"}, "b__WRIT__0000000002", true), errQueue)
}
