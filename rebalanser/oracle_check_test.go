package rebalanser_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// owned makes a resource known to a member, by letting the member own one.
func (w *World) owned(memberID string) (*node, *rebalanser.Resource) {
	w.Helper()
	n := w.node(memberID, rebalanser.Options{}).run()
	w.Pass(time.Second)
	return n, n.resource(w.of(memberID)[0])
}

// The oracle detects violations: each case is a history of a broken rebalancer.
func TestOracleSeesBadHistories(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		n1, r1 := w.owned("c1")
		n2, _ := w.owned("c2")
		w.Pass(time.Second)
		r2 := n2.resource(w.of("c2")[0])
		mine := n1.resource(w.of("c1")[0])
		for name, bad := range map[string]func(o *oracle){
			"two owners":            func(o *oracle) { o.gain("x", mine); o.gain("y", mine) },
			"told twice":            func(o *oracle) { o.gain("x", mine); o.gain("x", mine) },
			"a token again":         func(o *oracle) { o.gain("x", mine); o.yield("x", mine); o.gain("y", mine) },
			"gives up another's":    func(o *oracle) { o.gain("x", mine); o.yield("y", mine) },
			"gives up twice":        func(o *oracle) { o.gain("x", mine); o.yield("x", mine); o.yield("x", mine) },
			"lost, and goes on":     func(o *oracle) { o.gain("x", mine); o.lose("x", mine) },
			"loses what it had not": func(o *oracle) { o.lose("x", r2) },
			"excused for too short": func(o *oracle) {
				o.gain("x", mine)
				o.excuse("x", time.Second)
				w.Pass(2 * time.Second)
				o.gain("y", mine)
			},
		} {
			o := newOracle()
			bad(o)
			require.Error(w, o.err(), name)
		}
		for name, good := range map[string]func(o *oracle){
			"a dead one says what it likes": func(o *oracle) {
				o.gain("x", r1)
				o.markDead("x")
				o.yield("x", r2)
				o.lose("x", mine)
				o.gain("y", r2)
			},
			"one that could not know": func(o *oracle) {
				o.gain("x", mine)
				o.excuse("x", time.Minute)
				o.tokens[mine.Name()] = 0
				o.gain("y", mine)
			},
		} {
			o := newOracle()
			good(o)
			require.NoError(w, o.err(), name)
		}
	})
}
