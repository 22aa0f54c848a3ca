package supervise

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/session"
)

// Renewed is a thing that the library takes again by itself after each loss.
type Renewed struct {
	Name   string // for people
	Path   func() string
	States func(context.Context) iter.Seq2[RenewedState, error]
	Vars   []string // NAME=value, for the command's environment
	End    func(context.Context) error
	// Again and Away are what notes say of the thing: "is registered again", and "is
	// temporarily not registered".
	Again, Away string
}

// RenewedState says whether the thing exists at the moment.
type RenewedState struct {
	Exists bool
	Token  int64 // grows with each renewal
	Err    error // why it does not exist
}

// RenewedStates makes the states of a [Renewed] of those of its package.
func RenewedStates[S any](states func(context.Context) iter.Seq2[S, error], of func(S) RenewedState) func(context.Context) iter.Seq2[RenewedState, error] {
	return func(ctx context.Context) iter.Seq2[RenewedState, error] {
		return func(yield func(RenewedState, error) bool) {
			for s, err := range states(ctx) {
				if !yield(of(s), err) {
					return
				}
			}
		}
	}
}

// renewedHold is a thing that is renewed, as a thing to hold. A renewedHold is never lost
// for good, so its command runs on.
type renewedHold struct {
	Renewed
	ctx context.Context // does not end while the command runs
}

// Context never ends by a loss.
func (k renewedHold) Context() context.Context { return k.ctx }

// Path is the present znode.
func (k renewedHold) Path() string { return k.Renewed.Path() }

// Session is nil: the session changes.
func (k renewedHold) Session() *session.Session { return nil }

// HoldRenewed makes a hold of r, which exists, with this token. Notes say when r is away,
// and when it is back.
func HoldRenewed(ctx context.Context, a *cli.App, r Renewed, token int64) *Hold {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	was := RenewedState{Exists: true, Token: token}
	var teller sync.WaitGroup
	// Waited for by release; ends with release, or with the client.
	teller.Go(func() {
		for s, err := range r.States(ctx) {
			switch {
			case err != nil:
				return
			case s.Exists && (!was.Exists || s.Token != was.Token):
				// States may skip the moment between two renewals.
				a.Note("%s %s", r.Name, r.Again)
			case !s.Exists && was.Exists:
				a.Note("%s %s: %v", r.Name, r.Away, s.Err)
			}
			was = s
		}
	})
	return &Hold{Holdable: renewedHold{r, ctx}, Vars: r.Vars, Release: func(ctx context.Context) error {
		// The wanted end needs no note.
		cancel()
		teller.Wait()
		if err := r.End(ctx); err != nil {
			return err
		}
		return Unconfirmed(was)
	}}
}

// Unconfirmed is why no server has confirmed that a thing is gone whose release has returned
// nil: before the release its session was lost, and no server has said that the session has
// ended, so the znode may stay until the servers expire it. nil if they have.
func Unconfirmed(before RenewedState) error {
	if before.Exists || !errors.Is(before.Err, session.ErrLost) || errors.Is(before.Err, session.ErrExpired) || errors.Is(before.Err, session.ErrNodeDeleted) {
		return nil
	}
	return before.Err
}
