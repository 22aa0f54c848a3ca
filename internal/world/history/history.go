// Package history checks the answers to concurrent clients. Only tests import
// the package, except tests of packages whose importers should not see
// porcupine in their go.sum.
package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zkrecipes/zkrecipes/session"
)

// Fate is the outcome of a change, as promised by its error.
type Fate int

// A failed change must not have been made; a change of unknown outcome may have
// been made, or may still be.
const (
	Never Fate = iota
	Once
	Maybe
)

// FateOf is the fate of a change with the error err.
func FateOf(err error) Fate {
	switch {
	case err == nil:
		return Once
	case errors.Is(err, session.ErrUnknownOutcome):
		return Maybe
	}
	return Never
}

// Call is a call of a history. Begin and End are numbers in the order of
// beginnings and returns.
type Call struct {
	Input      any
	Fate       Fate
	Begin, End int64
}

// ErrOrder: no order of the calls explains their results.
var ErrOrder = errors.New("not linearizable")

// Check requires an order of the calls that explains their answers, with each
// call between its beginning and its end. step is the specification: it tells
// whether the answer in the input fits the state, and returns the next state. A
// call of unknown fate may take effect at any time after its beginning, or
// never, which means after all others. A failed call has no effect.
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
