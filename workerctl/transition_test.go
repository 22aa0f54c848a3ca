package workerctl

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"pgregory.net/rapid"
)

func TestEnter(t *testing.T) {
	for name, c := range map[string]struct {
		s     status
		reuse bool
		free  []int
		id    int
		next  status
		err   error
	}{
		"the first makes it run": {
			s: status{State: submitted, Workers: 2}, id: 0,
			next: status{State: running, Workers: 2, Next: 1, Joins: 1},
		},
		"the last": {
			s: status{State: running, Workers: 2, Next: 1}, id: 1,
			next: status{State: running, Workers: 2, Next: 2, Joins: 1},
		},
		"one too many":             {s: status{State: running, Workers: 2, Next: 2, Left: 1}, err: ErrFull},
		"finished":                 {s: status{State: finished, Workers: 2, Next: 2, Left: 2}, err: ErrOver},
		"killed":                   {s: status{State: killed, Workers: 2}, err: ErrOver},
		"abandoned":                {s: status{State: abandoned, Workers: 2}, err: ErrOver},
		"free ids are not used":    {s: status{State: running, Workers: 2, Next: 2, Left: 1}, free: []int{0}, err: ErrFull},
		"reuse, and none is free":  {s: status{State: running, Workers: 3, Next: 2}, reuse: true, id: 2, next: status{State: running, Workers: 3, Next: 3, Joins: 1}},
		"reuse, the lowest though": {s: status{State: running, Workers: 9, Next: 5, Left: 2}, reuse: true, free: []int{4, 2}, id: 2, next: status{State: running, Workers: 9, Next: 5, Left: 1, Joins: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			id, next, err := c.s.assignID(c.reuse, c.free)
			require.ErrorIs(t, err, c.err)
			if c.err == nil {
				require.Equal(t, c.id, id)
				require.Equal(t, c.next, next)
			}
		})
	}
}

// twin is the same as a simple list: the identity of each id.
type twin struct {
	workers    int
	reuse      bool
	over       bool
	identities []string // the identities of the assigned ids
	left       []bool
	counts     []int  // how often an id was joined under
	bad        []bool // left with a failure
}

func (w *twin) find(name string) int {
	for id, identity := range w.identities {
		if identity == name && (!w.reuse || !w.left[id]) {
			return id
		}
	}
	return -1
}

func (w *twin) join(name string) int {
	id := w.find(name)
	if id < 0 && w.reuse {
		id = slices.Index(w.left, true)
	}
	if id < 0 {
		if len(w.identities) == w.workers {
			return -1
		}
		id = len(w.identities)
		w.identities, w.left, w.counts = append(w.identities, ""), append(w.left, false), append(w.counts, 0)
		w.bad = append(w.bad, false)
	}
	w.identities[id], w.left[id], w.bad[id] = name, false, false
	w.counts[id]++
	return id
}

func (w *twin) settle() {
	w.over = len(w.identities) == w.workers && !slices.Contains(w.left, false)
}

// Histories of joins, returns, leaves and changes of size: the record and the
// list agree.
func TestTransitionsAreThoseOfADumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "workers")
		reuse := rapid.Bool().Draw(t, "reuse")
		s, w := status{State: submitted, Workers: n}, &twin{workers: n, reuse: reuse}
		members := map[int]*member{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if w.over {
				break
			}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}).Draw(t, "name")
				s = transitJoin(t, s, w, members, name)
			case 3, 4:
				if len(w.identities) == 0 {
					continue
				}
				id := rapid.IntRange(0, len(w.identities)-1).Draw(t, "leaver")
				if w.left[id] {
					continue
				}
				bad := rapid.Bool().Draw(t, "with a failure")
				next, err := s.countLeave(bad)
				require.NoError(t, err)
				s, w.left[id], w.bad[id], members[id].Left = next, true, bad, true
				if bad {
					members[id].Failure = "out of memory"
				}
			case 5:
				s = transitSize(t, s, w, members, rapid.IntRange(1, 8).Draw(t, "size"))
			}
			w.settle()
			require.Equal(t, w.over, s.State.Complete())
			if w.over {
				require.Equal(t, slices.Contains(w.bad, true), s.State == failed)
			}
			require.Equal(t, len(w.identities), s.Next)
			require.Equal(t, w.workers, s.Workers)
			count := func(of []bool) (n int) {
				for _, is := range of {
					if is {
						n++
					}
				}
				return n
			}
			require.Equal(t, count(w.left), s.Left)
			require.Equal(t, count(w.bad), s.Failed)
			require.Equal(t, s.Next == s.Workers, s.isFull())
			_, err := decodeStatus(encode(s))
			require.NoError(t, err, "the record can be decoded again")
		}
	})
}

func transitJoin(t *rapid.T, s status, w *twin, members map[int]*member, name string) status {
	var free []int
	for id, l := range w.left {
		if l && w.reuse {
			free = append(free, id)
		}
	}
	known := w.find(name)
	id := w.join(name)
	if known >= 0 {
		next, err := s.comeBack(*members[known])
		require.NoError(t, err)
		m := newSuccessor(members[known], known, "claim", Identity{Name: name})
		require.EqualValues(t, w.counts[known], m.Incarnation)
		members[known] = &m
		return next
	}
	got, next, err := s.assignID(w.reuse, free)
	if id < 0 {
		require.ErrorIs(t, err, ErrFull)
		return s
	}
	require.NoError(t, err)
	require.Equal(t, id, got)
	if old := members[id]; old != nil {
		next = next.reuseID(*old)
	}
	m := newSuccessor(members[id], id, "claim", Identity{Name: name})
	require.EqualValues(t, w.counts[id], m.Incarnation)
	members[id] = &m
	return next
}

func transitSize(t *rapid.T, s status, w *twin, members map[int]*member, n int) status {
	gone := map[int]bool{}
	var staying []int
	for id := n; id < len(w.identities); id++ {
		if w.left[id] {
			gone[id] = w.bad[id]
		} else {
			staying = append(staying, id)
		}
	}
	next, err := s.resizeTo(n, gone)
	if len(staying) > 0 {
		var in *InUseError
		require.ErrorAs(t, err, &in)
		require.Equal(t, staying, in.IDs)
		return s
	}
	require.NoError(t, err)
	w.workers = n
	if n < len(w.identities) {
		w.identities, w.left, w.counts, w.bad = w.identities[:n], w.left[:n], w.counts[:n], w.bad[:n]
	}
	for id := range members {
		if id >= n {
			delete(members, id)
		}
	}
	return next
}

func TestNothingHappensToAJobThatIsOver(t *testing.T) {
	for _, state := range []jobformat.State{finished, failed, killed, abandoned} {
		s := status{State: state, Workers: 2, Next: 2, Left: 1}
		_, err := s.comeBack(member{})
		require.ErrorIs(t, err, ErrOver)
		_, err = s.countLeave(false)
		require.ErrorIs(t, err, ErrOver)
		_, err = s.resizeTo(3, nil)
		require.ErrorIs(t, err, ErrOver)
		require.True(t, state.Over())
	}
}
