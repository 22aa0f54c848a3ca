package linear_test

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/sim/internal/linear"
)

// write sets a register.
func write(v int) func(int) (int, bool) { return func(int) (int, bool) { return v, true } }

// read expects v.
func read(v int) func(int) (int, bool) { return func(s int) (int, bool) { return s, s == v } }

func TestOrders(t *testing.T) {
	type calls = []linear.Call[int]
	for name, c := range map[string]struct {
		calls calls
		want  error
	}{
		"no calls":                        {nil, nil},
		"a read of the initial state":     {calls{{1, 2, read(0)}}, nil},
		"a read before the write":         {calls{{1, 4, write(1)}, {2, 3, read(0)}}, nil},
		"a read after a concurrent write": {calls{{1, 4, write(1)}, {2, 3, read(1)}}, nil},
		"a stale read":                    {calls{{1, 2, write(1)}, {3, 4, read(0)}}, linear.ErrOrder},
		"a read of the future":            {calls{{1, 2, read(1)}, {3, 4, write(1)}}, linear.ErrOrder},
		"reads that go back": {
			calls{{1, 6, write(1)}, {2, 3, read(1)}, {4, 5, read(0)}}, linear.ErrOrder,
		},
		"an unknown write that was made later": {calls{{1, 0, write(1)}, {2, 3, read(0)}, {4, 5, read(1)}}, nil},
		"an unknown write that was never made": {calls{{1, 0, write(1)}, {2, 3, read(0)}}, nil},
		"an unknown write of the future":       {calls{{1, 2, read(1)}, {3, 0, write(1)}}, linear.ErrOrder},
	} {
		require.ErrorIs(t, linear.Check(0, c.calls), c.want, name)
	}
}

// action is a call in a form that porcupine and linear both get.
type action struct {
	writes     bool
	value      int
	begin, end int
}

// history is a random one of up to 8 calls of 3 values.
func history(r *rand.Rand) []action {
	n := 2 + r.IntN(7)
	out := make([]action, n)
	marks := r.Perm(2 * n)
	for i := range out {
		out[i] = action{r.IntN(2) == 0, r.IntN(3), 1 + min(marks[2*i], marks[2*i+1]), 1 + max(marks[2*i], marks[2*i+1])}
		if out[i].writes && r.IntN(4) == 0 {
			out[i].end = 0
		}
	}
	return out
}

func TestTheCheckerAgreesWithPorcupine(t *testing.T) {
	model := porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, input, _ any) (bool, any) {
			if a := input.(action); a.writes {
				return true, a.value
			}
			return state == input.(action).value, state
		},
	}
	verdicts := map[bool]int{}
	for seed := range uint64(3000) {
		actions := history(rand.New(rand.NewPCG(seed, 1)))
		var calls []linear.Call[int]
		var ops []porcupine.Operation
		for i, a := range actions {
			step := read(a.value)
			if a.writes {
				step = write(a.value)
			}
			calls = append(calls, linear.Call[int]{Begin: a.begin, End: a.end, Step: step})
			if a.end == 0 {
				a.end = 1000 // after all others: never, as far as these can tell
			}
			ops = append(ops, porcupine.Operation{ClientId: i, Input: a, Call: int64(a.begin), Return: int64(a.end)})
		}
		want := porcupine.CheckOperations(model, ops)
		verdicts[want]++
		require.Equal(t, want, linear.Check(0, calls) == nil, "seed %d: %v", seed, actions)
	}
	require.Greater(t, min(verdicts[true], verdicts[false]), 300, "%v", verdicts)
}

func TestASearchThatIsTooLongIsGivenUp(t *testing.T) {
	var calls []linear.Call[int]
	for i := range 30 {
		calls = append(calls, linear.Call[int]{Begin: i + 1, End: 1000 + i, Step: func(s int) (int, bool) { return s ^ 1<<i, true }})
	}
	calls = append(calls, linear.Call[int]{Begin: 2000, End: 2001, Step: read(7)})
	require.ErrorIs(t, linear.Check(0, calls), linear.ErrBudget)
}
