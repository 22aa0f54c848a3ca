package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/session"
)

// errand is a command that is to run while something is held.
type errand struct {
	aim
	argv    []string
	timeout time.Duration // of the wait, from zkr's start; 0: none
	try     bool          // do not wait for others
	grace   time.Duration
	graceIs bool // it was asked for, and is not the default
	again   bool // after a loss: wait for it again, and run the command again
}

// aim is what an errand has to hold.
type aim struct {
	name  string        // for people: "the lock /locks/a"
	look  string        // the command that shows who has it
	env   string        // what the command's variables begin with: "ZKR_LOCK"
	delay time.Duration // how long others wait before they follow one that was lost
	kept  bool          // it is never lost while the command runs
	get   func(context.Context, *session.Client) (*grant, error)
}

// holdable is what everything has that the library lets somebody hold.
type holdable interface {
	Context() context.Context  // ends with the hold
	Path() string              // of the znode that stands for it
	Session() *session.Session // nil: it changes
}

// grant is something that is held.
type grant struct {
	holdable
	token   int64    // 0: it has none
	vars    []string // NAME=value, for the command's environment
	release func(context.Context) error
	// patient: the release waits for others, until a signal.
	patient bool
	// finishes: to release it says that the command has done its part. Otherwise
	// the session's end takes it away.
	finishes bool
}

const errandHelp = `
CMD runs in a process group of its own, in the foreground if zkr was there, with
zkr's stdin, stdout and stderr. Signals INT, TERM, HUP, QUIT, USR1, USR2 and WINCH
are passed on to the group. While zkr waits, INT, TERM, HUP and QUIT end the wait,
and leave no znode behind.

What is lost while CMD runs ends CMD: its group gets TERM, and KILL after --grace,
and is gone before a server can let anybody else in. "zkr lock --help" has the
details, the limits, and what the session timeout has to do with it.
`

// runFlags are the flags of all that run a command.
func (e *errand) runFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&e.timeout, "timeout", 0, "how long to wait, connecting included; 0: for ever")
	f.DurationVar(&e.grace, "grace", defaultGrace, "time between TERM and KILL when the command must stop")
}

// check checks the flags.
func (e *errand) check(cmd *cobra.Command) error {
	e.graceIs = cmd.Flags().Changed("grace")
	switch {
	case e.timeout < 0:
		return usage("--timeout is %v; it must be 0 (for ever) or more", e.timeout)
	case e.grace < 0:
		return usage("--grace is %v; it must be 0 (KILL at once) or more", e.grace)
	}
	return nil
}

// beforeCommand wants the arguments names, then --, then a command. noun is what
// the first one names.
func beforeCommand(noun string, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, dash := len(names), cmd.ArgsLenAtDash()
		before := len(args)
		if dash >= 0 {
			before = dash
		}
		call := cmd.CommandPath() + " "
		switch {
		case dash == n && len(args) > n:
			return nil
		case dash < 0 && asksForHelp(args):
			return pflag.ErrHelp
		case dash < 0 && before > 0 && !strings.HasPrefix(args[0], "/") && looksLikeSub(cmd, args[0]):
			return noCommand(cmd, args[0]) // "zkr lock lss /a"
		case before == 0:
			return usage("which %s, and which command? %s%s -- CMD [ARGS...]", noun, call, strings.Join(names, " "))
		case before < n:
			return usage("%s is missing: %s%s -- CMD [ARGS...]", names[before], call, strings.Join(names, " "))
		case dash < 0 && before > n:
			return usage("put -- between %s and the command: %s%s -- %s ...", names[n-1], call, strings.Join(args[:n], " "), args[n])
		case before > n:
			return usage("%s, then --, then the command; there are %d words before the --", words(n), before)
		}
		return usage("which command? %s%s -- CMD [ARGS...]", call, strings.Join(args[:n], " "))
	}
}

func words(n int) string {
	if n == 1 {
		return "one path"
	}
	return fmt.Sprintf("%d words", n)
}
