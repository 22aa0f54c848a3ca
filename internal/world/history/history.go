// Package history judges the answers that concurrent clients got. Only tests import it,
// and not those of packages whose importers should not see porcupine in their go.sum.
package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkrecipes/zkrecipes/session"
)

// Fate is the outcome that the error of a change promises.
type Fate int

// A change that failed must not have been made; one of unknown outcome may have been, or
// may still be.
const (
	Never Fate = iota
	Once
	Maybe
)

// FateOf is the fate of a change that has returned err.
func FateOf(err error) Fate {
	switch {
	case err == nil:
		return Once
	case errors.Is(err, session.ErrUnknownOutcome):
		return Maybe
	}
	return Never
}

// Call is one call of a history. Begin and End are numbered in the order in which calls
// began and returned.
type Call struct {
	Input      any
	Fate       Fate
	Begin, End int64
}

// ErrOrder says that no order of the calls explains their results.
var ErrOrder = errors.New("not linearizable")

// Check wants an order of the calls that explains their answers, in which none
// comes before its beginning or after its end. step is what the one true copy does: it
// says whether the answer in the input fits the state, and what the next state is. A call
// of unknown fate may take effect at any time after it began, or never, which is after
// all others. One that failed has no effect.
func Check(initial any, step func(state, input any) (bool, any), calls []Call) error {
	last := int64(0)
	for _, c := range calls {
		last = max(last, c.End)
	}
	var ops []porcupine.Operation
	for i, c := range calls {
		switch c.Fate {
		case Never:
			continue
		case Maybe:
			c.End = last + 1
		case Once:
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: c.Input, Call: c.Begin, Return: c.End})
	}
	model := porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) { return step(state, input) },
	}
	if res := porcupine.CheckOperationsTimeout(model, ops, time.Minute); res != porcupine.Ok {
		inputs := make([]any, len(calls))
		for i, c := range calls {
			inputs[i] = c.Input
		}
		return fmt.Errorf("%w (%v):\n%v", ErrOrder, res, inputs)
	}
	return nil
}
