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
	cause, err := a.connected(ctx, do)
	if cause != nil && err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return signals.Interrupted(cause, "not finished")
	}
	return err
}

// UntilEnded is what the help of commands says that use Follow.
const UntilEnded = `

The command continues over lost connections and sessions until INT (Ctrl-C) or TERM
ends it with the exit code 0. With -o json each line is an object.
`

// Follow does something that goes on until it is ended: INT and TERM are the
// usual ends, and no errors.
func (a *App) Follow(ctx context.Context, do Action) error {
	begun := false
	cause, err := a.connected(ctx, func(ctx context.Context, client *session.Client) error {
		begun = true
		return do(ctx, client)
	})
	var by signals.EndedBySignal
	switch {
	case cause == nil:
		return err
	case begun && errors.As(cause, &by) && (by.Sig == syscall.SIGINT || by.Sig == syscall.SIGTERM):
		return nil
	}
	return signals.Interrupted(cause, "not watching any more")
}

// Await does something that waits for others: within timeout from now on, or
// indefinitely if timeout is 0. what names for people what is waited for.
func (a *App) Await(ctx context.Context, timeout time.Duration, what string, do Action) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	met := false
	cause, err := a.connected(limited, func(ctx context.Context, client *session.Client) error {
		met = true
		return do(ctx, client)
	})
	var by signals.EndedBySignal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrUnknownOutcome):
		return err
	case errors.As(cause, &by):
		return signals.Interrupted(cause, "gave up waiting for %s", what)
	case errors.As(err, new(*ConnectionError)):
		return &exit.Failure{Code: exit.CodeUnavailable, Err: fmt.Errorf("waited %v for %s in vain: %w", timeout, what, err)}
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		if !met {
			return a.NoConnection(timeout, err)
		}
		return &exit.Failure{Code: exit.CodeBusy, Err: fmt.Errorf("waited %v for %s in vain%s", timeout, what, detailOf(err))}
	}
	return err
}

// connected connects, does it, and hangs up. cause is the signal that came, if
// one did, or why ctx has ended.
func (a *App) connected(ctx context.Context, do Action) (cause, err error) {
	defer IgnoreBrokenPipes()()
	received := signals.Listen()
	defer signal.Stop(received)
	working, stop := signals.UntilSignal(ctx, received)
	err = func() error {
		client, err := a.connectAsAsked(working)
		if err != nil {
			return err
		}
		defer func() { _ = CloseClient(ctx, client) }()
		return WithOutage(client, do(working, client))
	}()
	return stop(), err
}

// connectAsAsked connects with the options of the global flags.
func (a *App) connectAsAsked(ctx context.Context) (*session.Client, error) {
	o, err := a.Options()
	if err != nil {
		return nil, err
	}
	return a.Connect(ctx, o)
}

// NoConnection is the error of somebody who waits, and has not come to begin with it
// within timeout.
func (a *App) NoConnection(timeout time.Duration, err error) error {
	return &exit.Failure{
		Code: exit.CodeUnavailable, Err: fmt.Errorf("no connection within --timeout %v: %w", timeout, err),
		Hint: fmt.Sprintf("are --servers (ZKR_SERVERS) right? They are %s", a.Flags.Servers),
	}
}

// detailed is an error that has more to say about a wait in vain.
type detailed interface {
	error
	Detail() string
}

// detailOf is what an error adds to the message about a wait in vain.
func detailOf(err error) string {
	var more detailed
	if !errors.As(err, &more) {
		return ""
	}
	return more.Detail()
}
