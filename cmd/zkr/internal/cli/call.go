package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/session"
)

// Action is what a command does with a connection.
type Action func(ctx context.Context, client *session.Client) error

// Call does something that servers answer at once: within --connect-timeout,
// connecting not included.
func (a *App) Call(ctx context.Context, do Action) error {
	return a.LongCall(ctx, func(ctx context.Context, client *session.Client) error {
		limited, cancel := context.WithTimeout(ctx, a.Flags.ConnectTimeout)
		defer cancel()
		return do(limited, client)
	})
}

// LongCall does something that comes to an end by itself, or by a signal.
func (a *App) LongCall(ctx context.Context, do Action) error {
	r := a.connectAndRun(ctx, onlyFirst, withOutage(do))
	if r.first != nil && r.err != nil && !errors.Is(r.err, session.ErrUnknownOutcome) {
		return signals.Interrupted(r.first, "not finished")
	}
	return r.err
}

// UntilEnded is the part of the help that all commands share that use Follow.
const UntilEnded = `

The command continues over lost connections and sessions until INT (Ctrl-C) or TERM
ends it with the exit code 0. With -o json each line is an object.
`

// Follow runs an action that continues until a signal ends it. INT and TERM are
// the usual ends, and not errors.
func (a *App) Follow(ctx context.Context, do Action) error {
	r := a.connectAndRun(ctx, onlyFirst, withOutage(do))
	switch {
	case r.first == nil:
		return r.err
	case r.begun && isUsualEnd(r.first):
		return nil
	}
	return signals.Interrupted(r.first, "stopped watching")
}

// Await runs an action that waits for other clients: for timeout from now on, or
// indefinitely if timeout is 0. what names the awaited object in messages.
func (a *App) Await(ctx context.Context, timeout time.Duration, what string, do Action) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	r := a.connectAndRun(limited, onlyFirst, withOutage(do))
	err := r.err
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrUnknownOutcome):
		return err
	case errors.As(r.first, new(signals.EndedBySignal)):
		return signals.Interrupted(r.first, "gave up waiting for %s", what)
	case errors.As(err, new(*ConnectionError)):
		return &exit.Failure{Code: exit.CodeUnavailable, Err: fmt.Errorf("timed out after %v waiting for %s: %w", timeout, what, err)}
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		if !r.begun {
			return a.NoConnection(timeout, err)
		}
		return &exit.Failure{Code: exit.CodeBusy, Err: fmt.Errorf("timed out after %v waiting for %s%s", timeout, what, detailOf(err))}
	}
	return err
}

// signalUse says what signals do while an action runs.
type signalUse bool

const (
	// onlyFirst: the first ending signal ends the action's context.
	onlyFirst signalUse = false
	// closesAtSecond: a second ending signal also closes the client.
	closesAtSecond signalUse = true
)

// runResult is how connectAndRun has ended.
type runResult struct {
	first  error // the signal that came, or why the context has ended
	second error // the second signal that came, with closesAtSecond
	begun  bool  // the action was called
	err    error // of the action, or of the attempt to connect
}

// connectAndRun connects, calls do until an ending signal comes, and closes the client.
func (a *App) connectAndRun(ctx context.Context, use signalUse, do Action) (r runResult) {
	defer IgnoreBrokenPipes()()
	received := signals.Listen()
	defer signal.Stop(received)
	working, stop := signals.UntilSignal(ctx, received)
	defer func() { r.first = stop() }()
	client, err := a.connectAsAsked(working)
	if err != nil {
		return runResult{err: err}
	}
	defer func() { _ = CloseClient(ctx, client) }()
	if use == closesAtSecond {
		stopSecond := closeAtSecondSignal(ctx, working, received, client)
		defer func() { r.second = stopSecond() }()
	}
	return runResult{begun: true, err: do(working, client)}
}

// withOutage is do whose errors say how long no server could be reached.
func withOutage(do Action) Action {
	return func(ctx context.Context, client *session.Client) error {
		return WithOutage(client, do(ctx, client))
	}
}

// isUsualEnd reports whether a command that continues until it is ended was ended by INT or
// TERM.
func isUsualEnd(cause error) bool {
	var by signals.EndedBySignal
	return errors.As(cause, &by) && (by.Sig == syscall.SIGINT || by.Sig == syscall.SIGTERM)
}

// connectAsAsked connects with the options of the global flags.
func (a *App) connectAsAsked(ctx context.Context) (*session.Client, error) {
	o, err := a.Options()
	if err != nil {
		return nil, err
	}
	return a.Connect(ctx, o)
}

// NoConnection is the error of a wait that did not begin within timeout, because
// there was no connection.
func (a *App) NoConnection(timeout time.Duration, err error) error {
	return &exit.Failure{
		Code: exit.CodeUnavailable, Err: fmt.Errorf("no connection within --timeout %v: %w", timeout, err),
		Hint: fmt.Sprintf("check --servers (ZKR_SERVERS), which are %s", a.Flags.Servers),
	}
}

// detailed is an error with details about a wait that has timed out.
type detailed interface {
	error
	Detail() string
}

// detailOf returns the details that an error adds to the message about a timeout.
func detailOf(err error) string {
	var more detailed
	if !errors.As(err, &more) {
		return ""
	}
	return more.Detail()
}
