package world

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// exclusive is porcupine's model of an exclusive hold.
type exclusive struct {
	held  bool
	token int64
	by    int
}

// turn is a grant, or its end.
type turn struct {
	ends  bool
	token int64
	by    int // index of the hold
}

// linearizable asks porcupine the question of CheckLinear.
func linearizable(holds []Hold, handed bool) bool {
	model := porcupine.Model{
		Init: func() any { return exclusive{} },
		Step: func(state, input, _ any) (bool, any) {
			s, in := state.(exclusive), input.(turn)
			if in.ends {
				return s.held && s.by == in.by, exclusive{token: s.token}
			}
			return !s.held && (in.token > s.token || handed && in.token == s.token), exclusive{true, in.token, in.by}
		},
	}
	// Twice the time, so ends come before beginnings of the same instant.
	when := func(t time.Time) int64 { return 2 * int64(t.Sub(at(0))) }
	var ops []porcupine.Operation
	for i, h := range holds {
		ops = append(ops,
			porcupine.Operation{ClientId: 2 * i, Input: turn{token: h.Token, by: i}, Call: when(h.Asked), Return: when(h.From) + 1},
			porcupine.Operation{ClientId: 2*i + 1, Input: turn{ends: true, by: i}, Call: when(h.To), Return: when(at(1000))})
	}
	return porcupine.CheckOperations(model, ops)
}

func TestLinearAgreesWithPorcupine(t *testing.T) {
	verdicts := map[bool]int{}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var holds []Hold
		begin := 0.0
		for i := range 2 + r.IntN(4) {
			from := begin + float64(r.IntN(3))
			to := from + 1 + float64(r.IntN(3))
			holds = append(holds, Hold{
				Client: i, Token: int64(2 + i - r.IntN(2)*r.IntN(2)), Asked: at(max(0, from-float64(r.IntN(4)))), From: at(from), To: at(to),
			})
			begin = to - float64(r.IntN(2)*r.IntN(2))
		}
		handed := seed%2 == 0
		want := linearizable(holds, handed)
		verdicts[want]++
		require.Equal(t, want, CheckLinear(holds, handed) == nil, "seed %d, handed %v: %v", seed, handed, holds)
	}
	require.Greater(t, min(verdicts[true], verdicts[false]), 500, "%v", verdicts)
}
