package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/sim/internal/linear"
)

// Op is an operation on a register or counter, which holds a number that is 0 at first.
type Op struct {
	name     string
	arg, set int64
}

// Read returns the number.
func Read() Op { return Op{name: "read"} }

// Write sets the number to v; its result does not matter.
func Write(v int64) Op { return Op{name: "write", arg: v} }

// Add adds d to the number, and returns the sum.
func Add(d int64) Op { return Op{name: "add", arg: d} }

// CompareAndSet sets the number to v if it is old, and returns 1, or else 0.
func CompareAndSet(old, v int64) Op { return Op{name: "compare-and-set", arg: old, set: v} }

func (o Op) String() string {
	switch o.name {
	case "read":
		return "read"
	case "compare-and-set":
		return fmt.Sprintf("%s %d to %d", o.name, o.arg, o.set)
	}
	return fmt.Sprintf("%s %d", o.name, o.arg)
}

// call is a call of an operation.
type call struct {
	process, object string
	op              Op
	result          int64
	begin, end      int  // numbers in the order of beginnings and returns; end is 0 without a return
	known           bool // the result is known
	never           bool // it has no effect
}

// step is the specification of the register: it returns the next state, and whether the
// result fits.
func (c call) step(state int64) (int64, bool) {
	var result int64
	fits := true
	switch c.op.name {
	case "read":
		result = state
	case "write":
		return c.op.arg, true
	case "add":
		state += c.op.arg
		result = state
	case "compare-and-set":
		if state == c.op.arg {
			state, result = c.op.set, 1
		}
	}
	if c.known {
		fits = c.result == result
	}
	return state, fits
}

func (c call) String() string {
	result := "unknown"
	if c.known {
		result = fmt.Sprint(c.result)
	}
	return fmt.Sprintf("%s: %v: %s", c.process, c.op, result)
}

// Linearizable requires that the results of Call(object, ...) are explained by some order
// of the calls, in which each call stands between its beginning and its return. A call
// that failed with session.ErrUnknownOutcome, or whose process was killed, may have taken
// effect at any time after its beginning, or never. Any other error of a call says that
// it has no effect.
func Linearizable(object string) Invariant {
	return Invariant{"linearizable: " + object, func(h *History) error {
		var calls []linear.Call[int64]
		var text []string
		for _, c := range h.calls {
			if c.object != object || c.never {
				continue
			}
			calls = append(calls, linear.Call[int64]{Begin: c.begin, End: c.end, Step: c.step})
			text = append(text, c.String())
		}
		err := linear.Check(0, calls)
		if err == nil || errors.Is(err, linear.ErrBudget) {
			return err
		}
		const most = 40
		if len(text) > most {
			text = slices.Concat([]string{"..."}, text[len(text)-most:])
		}
		return fmt.Errorf("no order of the calls of %s explains their results:\n%s", object, strings.Join(text, "\n"))
	}}
}

// finish enters the return of the call.
func (c *call) finish(result int64, err error, end int) {
	switch {
	case err == nil:
		c.result, c.known, c.end = result, true, end
	case !errors.Is(err, session.ErrUnknownOutcome):
		c.never = true
	}
}
