package counter

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// twin carries ops out one at a time, as separate writes would.
type twin struct {
	value  *big.Int // nil if not a number
	seen   int64    // zxid of the state, -1 after a change
	format Format
	writes int
}

func (tw *twin) write(v *big.Int) outcome {
	if !v.IsInt64() || tw.format == CuratorInt && v.Int64() != int64(int32(v.Int64())) {
		return outcome{err: ErrOverflow}
	}
	tw.value, tw.seen = v, -1
	tw.writes++
	return outcome{value: v.Int64(), ok: true}
}

func (tw *twin) do(o *op) outcome {
	switch o.kind {
	case set:
		return tw.write(big.NewInt(o.to))
	case swapSeen:
		if tw.seen == o.from {
			return tw.write(big.NewInt(o.to))
		}
		return outcome{}
	}
	if tw.value == nil {
		return outcome{err: ErrCorrupt}
	}
	if o.kind == add {
		return tw.write(new(big.Int).Add(tw.value, big.NewInt(o.to)))
	}
	if tw.value.Cmp(big.NewInt(o.from)) == 0 {
		return tw.write(big.NewInt(o.to))
	}
	return outcome{}
}

func drawOps(r *rapid.T) []*op {
	value := rapid.OneOf(rapid.Int64Range(-2, 2), rapid.SampledFrom([]int64{math.MaxInt32, math.MinInt32}))
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) *op {
		return &op{kind: kind(rapid.IntRange(0, 3).Draw(r, "kind")), from: rapid.Int64Range(-2, 8).Draw(r, "from"), to: value.Draw(r, "to")}
	}), 1, 8).Draw(r, "ops")
}

func TestBatchIsAsIfOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		start := rapid.Int64Range(-2, 2).Draw(r, "start")
		now := state{data: f.encode(start), version: rapid.Int32Range(-3, 3).Draw(r, "version"), node: identity{3, 30}, mzxid: 7}
		tw := &twin{value: big.NewInt(start), seen: 7, format: f}
		if rapid.Bool().Draw(r, "corrupt") {
			now.data, tw.value = []byte("x"), nil
		}
		ops := drawOps(r)
		p := makePlan(f, now, ops)
		frozen := now.version == -1 && ops[0].kind != set
		if len(p.ops) != len(p.outcomes) || len(p.ops) == 0 || len(p.ops) < len(ops) && !frozen {
			r.Fatalf("%d ops, %d outcomes of %d", len(p.ops), len(p.outcomes), len(ops))
		}
		if frozen && p.writes {
			r.Fatal("a write that depends on version -1 depends on nothing")
		}
		if p.writes && ops[0].kind != set && p.version != now.version {
			r.Fatal("a write that does not depend on what it was computed from")
		}
		for i, o := range p.ops {
			before := *tw
			want, got := tw.do(o), p.outcomes[i]
			if frozen && want.ok {
				want, *tw = outcome{err: ErrVersion}, before
			}
			if got.ok != want.ok || (got.err != nil) != (want.err != nil) || got.ok && got.value != want.value {
				r.Fatalf("op %d %+v: %+v, twin %+v", i, *o, got, want)
			}
			if want.err != nil {
				require.ErrorIs(t, got.err, want.err)
			}
		}
		if p.writes != (tw.writes > 0) {
			r.Fatalf("writes: %v, twin %d", p.writes, tw.writes)
		}
		if p.writes {
			v, err := f.decode(p.data)
			if err != nil || v != tw.value.Int64() {
				r.Fatalf("%d %v, twin %v", v, err, tw.value)
			}
		}
	})
}

// A refused batch at version -1 ends before its first set, which begins the
// next batch.
func TestBatchAtTheVersionThatMeansAnyEndsBeforeItsFirstSet(t *testing.T) {
	ops := []*op{{kind: add, to: 1}, {kind: swap, from: 9, to: 1}, {kind: set, to: 1}, {kind: add, to: 1}}
	p := makePlan(CuratorLong, state{version: anyVersion}, ops)
	require.Len(t, p.ops, 2)
	require.ErrorIs(t, p.outcomes[0].err, ErrVersion)
	require.Equal(t, outcome{}, p.outcomes[1])
	p = makePlan(CuratorLong, state{version: anyVersion}, ops[2:])
	require.Len(t, p.ops, 2)
	require.True(t, p.writes)
	require.EqualValues(t, 2, p.outcomes[1].value)
}

// With an open outcome, every batch has a write, with the version that settles
// the outcome as its condition.
func TestPlanThatSettlesAnOutcomeDependsOnItsVersion(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		now := state{data: CuratorLong.encode(1), version: rapid.SampledFrom([]int32{0, 5, -2, -9}).Draw(r, "version"), mzxid: 7}
		p := makePlan(CuratorLong, now, drawOps(r))
		data := p.data
		if !p.writes {
			data = now.data
		}
		p.resolve(now)
		ops := p.txn("/a", "/a/m")
		require.True(t, p.writes)
		require.Equal(t, session.SetOp("/a", data, now.version), ops[0])
		require.Equal(t, session.SetOp("/a/m", nil, anyVersion), ops[len(ops)-1])
		require.Equal(t, now.version == -2, len(ops) == 3, "-1 is stepped over")
	})
}

func TestReservationIsOfAsManyAsAreWantedOrABlockOrWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		value := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Map(rapid.Int64Range(0, 9), func(n int64) int64 { return f.maxValue() - n })).Draw(r, "value")
		ops := make([]*op, rapid.IntRange(1, 9).Draw(r, "ops"))
		block := rapid.Int64Range(1, 9).Draw(r, "block")
		p := makeReservation(f, state{data: f.encode(value), version: 4}, ops, block)
		value = max(value, 0) // the first is 1, whatever a negative number comes from
		want := new(big.Int).Add(big.NewInt(value), big.NewInt(max(block, int64(len(ops)))))
		if most := big.NewInt(f.maxValue()); want.Cmp(most) > 0 {
			want = most
		}
		if len(p.outcomes) != len(ops) || p.writes != (want.Int64() > value) {
			r.Fatalf("%+v", p)
		}
		if !p.writes {
			require.ErrorIs(t, p.outcomes[0].err, ErrOverflow)
			return
		}
		got, err := f.decode(p.data)
		if err != nil || got != want.Int64() || p.first != value+1 || p.last != got || p.version != 4 {
			r.Fatalf("%+v: %d, want %v", p, got, want)
		}
	})
	p := makeReservation(CuratorLong, state{version: anyVersion}, make([]*op, 1), 1)
	require.False(t, p.writes)
	require.ErrorIs(t, p.outcomes[0].err, ErrVersion)
	p = makeReservation(CuratorLong, state{data: []byte("x")}, make([]*op, 1), 1)
	require.False(t, p.writes)
	require.ErrorIs(t, p.outcomes[0].err, ErrCorrupt)
}

func TestPendingWriteIsOpenWhileItsNodeHasItsVersion(t *testing.T) {
	d := &pendingWrite{node: identity{4, 40}, version: 2}
	require.True(t, d.open(state{node: identity{4, 40}, version: 2}))
	require.False(t, d.open(state{node: identity{4, 40}, version: 3}))
	require.False(t, d.open(state{node: identity{5, 40}, version: 2}), "another node")
	require.False(t, d.open(state{node: identity{4, 41}, version: 2}), "a node of another ensemble")
}
