package discovery

import (
	"context"
	"iter"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/keeping"
)

// State says whether an instance or a member is registered at the moment.
type State struct {
	Registered bool
	// Path is the path of the znode, or of the last znode while none exists, and
	// Token its czxid, which grows with every registration.
	Path  string
	Token int64
	// Since is the time at which this state began.
	Since time.Time
	// Err says why the instance or member is not registered: ErrConflict,
	// ErrUnregistered, or an error of package session.
	Err error
}

func stateOf(s keeping.State) State {
	return State{Registered: s.Registered, Path: s.Path, Token: s.Token, Since: s.Since, Err: s.Err}
}

// states iterates over the states of k; nil is that of a zero value of typ.
func states(ctx context.Context, k *keeping.Registrant, typ, source string) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		for s, err := range k.StatesOf(ctx, "discovery", typ, source) {
			if !yield(stateOf(s), err) {
				return
			}
		}
	}
}
