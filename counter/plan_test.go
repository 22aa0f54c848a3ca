package counter

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
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
		return outcome{Err: ErrOverflow}
	}
	tw.value, tw.seen = v, -1
	tw.writes++
	return outcome{Value: v.Int64(), OK: true}
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
		return outcome{Err: ErrCorrupt}
	}
	if o.kind == add {
		return tw.write(new(big.Int).Add(tw.value, big.NewInt(o.to)))
	}
	if tw.value.Cmp(big.NewInt(o.from)) == 0 {
		return tw.write(big.NewInt(o.to))
	}
	return outcome{}
}

func drawOps(r *rapid.T, f Format) []*op {
	value := rapid.OneOf(rapid.Int64Range(-2, 2), rapid.SampledFrom([]int64{math.MaxInt32, math.MinInt32}))
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) *op {
		return &op{format: f, kind: kind(rapid.IntRange(0, 3).Draw(r, "kind")), from: rapid.Int64Range(-2, 8).Draw(r, "from"), to: value.Draw(r, "to")}
	}), 1, 8).Draw(r, "ops")
}

func TestBatchIsAsIfOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		start := rapid.Int64Range(-2, 2).Draw(r, "start")
		now := batchwrite.State{Data: f.encode(start), Version: rapid.Int32Range(-3, 3).Draw(r, "version"), Node: batchwrite.Identity{Czxid: 3, Ctime: 30}, Mzxid: 7}
		tw := &twin{value: big.NewInt(start), seen: 7, format: f}
		if rapid.Bool().Draw(r, "corrupt") {
			now.Data, tw.value = []byte("x"), nil
		}
		ops := drawOps(r, f)
		p := batchwrite.MakePlan(now, ops)
		frozen := now.Version == -1 && ops[0].kind != set
		if len(p.Outcomes) == 0 || len(p.Outcomes) < len(ops) && !frozen {
			r.Fatalf("%d outcomes of %d", len(p.Outcomes), len(ops))
		}
		if frozen && p.Writes {
			r.Fatal("a write that depends on version -1 depends on nothing")
		}
		if p.Writes && ops[0].kind != set && p.Version != now.Version {
			r.Fatal("a write that does not depend on what it was computed from")
		}
		for i, o := range ops[:len(p.Outcomes)] {
			before := *tw
			want, got := tw.do(o), p.Outcomes[i]
			if frozen && want.OK {
				want, *tw = outcome{Err: ErrVersion}, before
			}
			if got.OK != want.OK || (got.Err != nil) != (want.Err != nil) || got.OK && got.Value != want.Value {
				r.Fatalf("op %d %+v: %+v, twin %+v", i, *o, got, want)
			}
			if want.Err != nil {
				require.ErrorIs(t, got.Err, want.Err)
			}
		}
		if p.Writes != (tw.writes > 0) {
			r.Fatalf("writes: %v, twin %d", p.Writes, tw.writes)
		}
		if p.Writes {
			v, err := f.decode(p.Data)
			if err != nil || v != tw.value.Int64() {
				r.Fatalf("%d %v, twin %v", v, err, tw.value)
			}
		}
	})
}

func TestReservationIsOfAsManyAsAreWantedOrABlockOrWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := rapid.SampledFrom([]Format{CuratorLong, CuratorInt, KazooText}).Draw(r, "format")
		value := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Map(rapid.Int64Range(0, 9), func(n int64) int64 { return f.maxValue() - n })).Draw(r, "value")
		n := rapid.IntRange(1, 9).Draw(r, "callers")
		s := &stock{format: f, block: rapid.Int64Range(1, 9).Draw(r, "block")}
		data, err := s.Plan(batchwrite.State{Data: f.encode(value), Version: 4}, n)
		value = max(value, 0) // the first is 1, whatever a negative number comes from
		want := new(big.Int).Add(big.NewInt(value), big.NewInt(max(s.block, int64(n))))
		if most := big.NewInt(f.maxValue()); want.Cmp(most) > 0 {
			want = most
		}
		if want.Int64() == value {
			require.ErrorIs(t, err, ErrOverflow)
			return
		}
		require.NoError(t, err)
		require.NoError(t, s.Refill())
		require.ErrorIs(t, s.Refill(), ErrReused, "the same numbers again")
		got, err := f.decode(data)
		require.NoError(t, err)
		require.Equal(t, want.Int64(), got)
		for i := range got - value {
			v, ok := s.Take()
			require.True(t, ok)
			require.Equal(t, value+1+i, v)
		}
		_, ok := s.Take()
		require.False(t, ok)
	})
	_, err := (&stock{block: 1}).Plan(batchwrite.State{Data: []byte("x")}, 1)
	require.ErrorIs(t, err, ErrCorrupt)
}
