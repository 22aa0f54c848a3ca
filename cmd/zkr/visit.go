package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/session"
)

// task is what a command does with a connection.
type task func(ctx context.Context, client *session.Client) error

// visit does something that servers answer at once: within --connect-timeout,
// connecting not included.
func (a *app) visit(ctx context.Context, do task) error {
	return a.work(ctx, func(ctx context.Context, client *session.Client) error {
		limited, cancel := context.WithTimeout(ctx, a.flags.connectTimeout)
		defer cancel()
		return do(limited, client)
	})
}

// work does something that comes to an end by itself, or by a signal.
func (a *app) work(ctx context.Context, do task) error {
	cause, err := a.connected(ctx, do)
	if cause != nil && err != nil && !errors.Is(err, session.ErrUnknownOutcome) {
		return interrupted(cause, "not finished")
	}
	return err
}

// untilEnded is what the help of commands says that use follow.
const untilEnded = `

It goes on over lost connections and sessions until it is ended: by INT (Ctrl-C)
or TERM with the exit code 0. With -o json each line is an object.
`

// follow does something that goes on until it is ended: INT and TERM are the
// usual ends, and no errors.
func (a *app) follow(ctx context.Context, do task) error {
	begun := false
	cause, err := a.connected(ctx, func(ctx context.Context, client *session.Client) error {
		begun = true
		return do(ctx, client)
	})
	var by endedBy
	switch {
	case cause == nil:
		return err
	case begun && errors.As(cause, &by) && (by.sig == syscall.SIGINT || by.sig == syscall.SIGTERM):
		return nil
	}
	return interrupted(cause, "not watching any more")
}

// await does something that waits for others: within timeout from now on, 0
// being for ever. what names for people what is waited for.
func (a *app) await(ctx context.Context, timeout time.Duration, what string, do task) error {
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
	var by endedBy
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrUnknownOutcome):
		return err
	case errors.As(cause, &by):
		return interrupted(cause, "gave up waiting for %s", what)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		if !met {
			return a.noConnection(timeout, err)
		}
		return &failure{code: exitBusy, err: fmt.Errorf("waited %v for %s in vain%s", timeout, what, missingIn(err))}
	}
	return err
}

// connected connects, does it, and hangs up. cause is the signal that came, if
// one did, or why ctx has ended.
func (a *app) connected(ctx context.Context, do task) (cause, err error) {
	defer listenForBrokenPipes()()
	signals := listen()
	defer signal.Stop(signals)
	working, stop := untilSignal(ctx, signals)
	err = func() error {
		o, err := a.options()
		if err != nil {
			return err
		}
		client, err := a.connect(working, o)
		if err != nil {
			return err
		}
		defer func() { _ = hangUp(ctx, client) }()
		return do(working, client)
	}()
	return stop(), err
}

// checkTimeout checks the flag of those that wait.
func checkTimeout(d time.Duration) error {
	if d < 0 {
		return usage("--timeout is %v; it must be 0 (for ever) or more", d)
	}
	return nil
}

// arguments wants exactly these arguments; noun is what the first one names.
func arguments(noun string, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		call := cmd.CommandPath()
		for _, name := range names {
			call += " " + name
		}
		switch {
		case len(args) == len(names):
			return nil
		case len(args) == 0:
			return usage("which %s? %s", noun, call)
		case len(args) < len(names):
			return usage("%s is missing: %s", names[len(args)], call)
		}
		return usage("which %s? %q is one word too many: %s", noun, args[len(names)], call)
	}
}

// onPath is arguments for commands whose first argument is a path.
func onPath(noun string, more ...string) cobra.PositionalArgs {
	count := arguments(noun, append([]string{"PATH"}, more...)...)
	return func(cmd *cobra.Command, args []string) error {
		if err := count(cmd, args); err != nil {
			return err
		}
		return checkPath(args[0])
	}
}

func checkPath(path string) error {
	if err := session.ValidatePath(path); err != nil {
		return usage("%w", err)
	}
	return nil
}

// isName reports whether a znode can have that name.
func isName(name string) bool {
	return name != "" && !strings.Contains(name, "/") && session.ValidatePath("/"+name) == nil
}

// badName is the error of a name, given as what, that no znode can have.
func badName(what, name string) error {
	return usage("%s is %.60q; it must be a name that a znode can have: not empty, not . or .., and without slashes", what, name)
}

// mostBytes is how long the name of a resource or an instance may be.
const mostBytes = 1024

// checkShort checks a name that also becomes part of others.
func checkShort(what, name string) error {
	switch {
	case len(name) > mostBytes:
		return usage("%s is %.60q..., of %d bytes; it must have %d at most", what, name, len(name), mostBytes)
	case !isName(name):
		return badName(what, name)
	}
	return nil
}

// noConnection is the error of somebody who waits, and has not come to begin with it
// within timeout.
func (a *app) noConnection(timeout time.Duration, err error) error {
	return &failure{
		code: exitUnavailable, err: fmt.Errorf("no connection within --timeout %v: %w", timeout, err),
		hint: fmt.Sprintf("are --servers (ZKR_SERVERS) right? They are %s", a.flags.servers),
	}
}
