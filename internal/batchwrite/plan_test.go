package batchwrite

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// drawChanges draws changes of data that is a single byte: additions, refusals and blind changes.
func drawChanges(r *rapid.T) []step {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) step {
		s := step{by: rapid.Int64Range(1, 9).Draw(r, "by"), blind: rapid.Bool().Draw(r, "blind")}
		s.refused = !s.blind && rapid.Bool().Draw(r, "refused")
		return s
	}), 1, 8).Draw(r, "changes")
}

func TestBatchIsAsIfOneChangeAfterTheOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := State{Data: []byte{1}, Version: rapid.Int32Range(-3, 3).Draw(r, "version"), Mzxid: 7}
		changes := drawChanges(r)
		p := MakePlan(now, changes)
		blind := changes[0].blind
		frozen := now.Version == AnyVersion && !blind
		n, last, value := 0, -1, byte(1)
		for ; n < len(changes) && !(frozen && changes[n].blind); n++ {
			switch c := changes[n]; {
			case c.refused:
				require.ErrorIs(r, p.Outcomes[n].Err, errRefused)
			case frozen:
				require.ErrorIs(r, p.Outcomes[n].Err, ErrVersion)
			default:
				value, last = c.apply(value), n
				require.Equal(r, Outcome[int64]{Value: int64(value), OK: true}, p.Outcomes[n])
			}
		}
		require.Len(r, p.Outcomes, n)
		require.Equal(r, last >= 0, p.Writes)
		require.Equal(r, last, p.Author)
		if p.Writes {
			require.Equal(r, []byte{value}, p.Data)
		}
		want := now.Version
		if blind && now.Version != AnyVersion-1 {
			want = AnyVersion
		}
		require.Equal(r, want, p.Version)
	})
}

// A change behind another one sees a state that no client has seen before.
func TestStateBehindAChangeIsNoneThatAClientHasSeen(t *testing.T) {
	node := Identity{3, 30}
	var seen []State
	look := look(func(now State) { seen = append(seen, now) })
	MakePlan(State{Data: []byte{1}, Node: node, Mzxid: 7}, []Change[int64]{look, plus(1), look})
	require.Len(t, seen, 2)
	require.True(t, seen[0].Is(7, node))
	require.True(t, seen[0].Is(7, Identity{}), "any node's")
	require.False(t, seen[0].Is(7, Identity{3, 31}))
	require.False(t, seen[0].Is(8, node))
	require.False(t, seen[1].Is(7, node))
	require.Equal(t, []byte{2}, seen[1].Data)
}

// With an open outcome, every batch has a write, with the version that settles
// the outcome as its condition.
func TestPlanThatSettlesAnOutcomeDependsOnItsVersion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := State{Data: []byte{1}, Version: rapid.SampledFrom([]int32{0, 5, -2, -9}).Draw(r, "version"), Mzxid: 7}
		p := MakePlan(now, drawChanges(r))
		data := p.Data
		if !p.Writes {
			data = now.Data
		}
		p.resolve(now)
		ops := p.txn("/a", "/a/m")
		require.True(r, p.Writes)
		require.Equal(r, session.SetOp("/a", data, now.Version), ops[0])
		require.Equal(r, session.SetOp("/a/m", nil, AnyVersion), ops[len(ops)-1])
		require.Equal(r, now.Version == -2, len(ops) == 3, "-1 is stepped over")
	})
}

// shelf is a stock whose Plan fails if it has an error.
type shelf struct {
	Stock[int64]
	err error
}

func (s shelf) Plan(now State, n int) ([]byte, error) { return append(now.Data, byte(n)), s.err }

func TestReservationDependsOnItsVersionAndFailsForAll(t *testing.T) {
	p := planReservation(shelf{}, State{Data: []byte{9}, Version: 4}, 3)
	require.Equal(t, Plan[int64]{Outcomes: make([]Outcome[int64], 3), Writes: true, Version: 4, Data: []byte{9, 3}, Author: -1}, p)
	p = planReservation(shelf{}, State{Version: AnyVersion}, 1)
	require.False(t, p.Writes)
	require.ErrorIs(t, p.Outcomes[0].Err, ErrVersion)
	full := errors.New("full")
	p = planReservation(shelf{err: full}, State{Version: AnyVersion}, 2)
	require.False(t, p.Writes)
	require.ErrorIs(t, p.Outcomes[1].Err, full)
}

func TestPendingWriteIsOpenWhileItsNodeHasItsVersion(t *testing.T) {
	d := &pendingWrite{node: Identity{4, 40}, version: 2}
	require.True(t, d.open(State{Node: Identity{4, 40}, Version: 2}))
	require.False(t, d.open(State{Node: Identity{4, 40}, Version: 3}))
	require.False(t, d.open(State{Node: Identity{5, 40}, Version: 2}), "another node")
	require.False(t, d.open(State{Node: Identity{4, 41}, Version: 2}), "a node of another ensemble")
}
