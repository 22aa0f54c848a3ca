package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/session"
)

// GivenBack is the part of the help that all commands share that have a role.
const GivenBack = `
The exit code is 0 only if a server has confirmed that everything was given back. If no
server confirms it within the session timeout, zkr exits with 76, and the servers take
back what is left when they expire the session.
`

// UntilGivenBack is the part of the help that all commands share that use Serve.
const UntilGivenBack = `

The command continues over lost connections and sessions until INT (Ctrl-C) or TERM
ends it; a second signal ends the wait for a server, with the exit code 128+n. With
-o json each line is an object.
` + GivenBack

// Serve does something that has a role, such as that of a master, until INT or TERM ends
// zkr. do returns nil only if a server has confirmed that everything was given back. A
// second signal closes the client, and so ends the wait for the confirmation.
func (a *App) Serve(ctx context.Context, do Action) error {
	r := a.connectAndRun(ctx, closesAtSecond, do)
	switch {
	case r.begun:
		return RoleEnd(r.first, r.second, r.err)
	case r.first != nil:
		return signals.Interrupted(r.first, "gave up connecting")
	}
	return r.err
}

// closeAtSecondSignal closes the client when another ending signal comes after the one that
// has ended working. stop ends the watching, and returns the second signal, or nil.
func closeAtSecondSignal(ctx, working context.Context, received <-chan os.Signal, client *session.Client) (stop func() error) {
	over := make(chan struct{})
	var second error
	var listener sync.WaitGroup
	// Waited for by stop, which ends it.
	listener.Go(func() {
		select {
		case <-working.Done(): // by the first signal, which was received elsewhere
		case <-over:
			return
		}
		if second = nextEnd(received, over); second != nil {
			hurried, cancel := context.WithCancel(ctx)
			cancel()
			_ = client.Close(hurried) // the closing continues in the background
		}
	})
	return func() error {
		close(over)
		listener.Wait()
		return second
	}
}

// nextEnd waits for a signal that ends things, and is nil if over is closed first.
func nextEnd(received <-chan os.Signal, over <-chan struct{}) error {
	for {
		select {
		case sig := <-received:
			if signals.EndsWait(sig) {
				return signals.EndedBySignal{Sig: sig.(syscall.Signal)}
			}
		case <-over:
			return nil
		}
	}
}

// RoleEnd is the end of a command that has a role. first and second are the signals that
// came; they may be nil. err is why not everything was given back, or why the role has
// ended by itself.
func RoleEnd(first, second, err error) error {
	var by signals.EndedBySignal
	switch {
	case errors.As(second, &by) && err == nil:
		return signals.Interrupted(second, "everything was given back")
	case errors.As(second, &by):
		return signals.Interrupted(second, "not everything was given back: %v", err)
	case err != nil && (first != nil || errors.Is(err, session.ErrLost)):
		return notGivenBack(err)
	case err != nil:
		return err
	case !errors.As(first, &by) || isUsualEnd(first):
		return nil
	}
	return signals.Interrupted(first, "everything was given back")
}

// notGivenBack is the error of a role whose end no server has confirmed. Errors with
// another reason keep their exit code.
func notGivenBack(err error) error {
	for _, reason := range []error{session.ErrLost, session.ErrUnknownOutcome, session.ErrUnreachable} {
		if errors.Is(err, reason) {
			return &exit.Failure{
				Code: exit.CodeLost, Err: fmt.Errorf("not everything was given back: %w", err),
				Hint: "the servers take back what is left when they expire the session",
			}
		}
	}
	return err
}
