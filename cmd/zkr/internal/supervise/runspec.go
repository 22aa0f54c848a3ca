package supervise

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// RunSpec is a command that is to run while something is held.
type RunSpec struct {
	Target
	Argv    []string
	timeout time.Duration // of the wait, from zkr's start; 0: none
	Try     bool          // do not wait for others
	Grace   time.Duration
	graceIs bool // it was asked for, and is not the default
	Again   bool // after a loss: wait for it again, and run the command again
}

// Target is what is held while a command runs.
type Target struct {
	Name        string        // for people: "the lock /locks/a"
	ListCommand string        // the command that shows who has it
	EnvPrefix   string        // what the command's variables begin with: "ZKR_LOCK"
	Delay       time.Duration // how long others wait before they follow one that was lost
	Renewed     bool          // it is never lost while the command runs
	Outlasts    bool          // it does not end with the session
	Acquire     func(context.Context, *session.Client) (*Hold, error)
}

// Holdable is what everything has that the library lets somebody hold.
type Holdable interface {
	Context() context.Context  // ends with the hold
	Path() string              // of the znode that stands for it
	Session() *session.Session // nil: it changes
}

// Hold is something that is held.
type Hold struct {
	Holdable
	Token   int64    // 0: it has none
	Vars    []string // NAME=value, for the command's environment
	Release func(context.Context) error
	// Patient: the release waits for others, until a signal.
	Patient bool
	// Finishes: to release it says that the command has done its part. Otherwise
	// the session's end takes it away.
	Finishes bool
}

// RunHelp is the part of the help that all commands share that run a command.
const RunHelp = `
CMD runs in a process group of its own, with zkr's stdin, stdout and stderr, and in
the foreground if zkr was in the foreground. zkr passes the signals INT, TERM, HUP,
QUIT, USR1, USR2 and WINCH on to the group. While zkr waits, INT, TERM, HUP and QUIT
end the wait, and leave no znode behind.

If the hold is lost while CMD runs, zkr stops CMD: the group gets TERM, then KILL
after --grace, and is gone before a server can grant the hold to another client.
"zkr lock --help" describes the details, the limits, and the session timeout that a
grace requires. If zkr cannot give the hold back when CMD has ended, because no server
answers, a note on stderr says how long the hold may stay taken, and zkr exits as CMD
did.
`

// RunFlags are the flags of all that run a command.
func (e *RunSpec) RunFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&e.timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	f.DurationVar(&e.Grace, "grace", DefaultGrace, "time between TERM and KILL when the command must stop")
}

// Check checks the flags.
func (e *RunSpec) Check(cmd *cobra.Command) error {
	e.graceIs = cmd.Flags().Changed("grace")
	switch {
	case e.timeout < 0:
		return exit.Usage("--timeout is %v; it must be 0 (no limit) or more", e.timeout)
	case e.Grace < 0:
		return exit.Usage("--grace is %v; it must be 0 (KILL at once) or more", e.Grace)
	}
	return nil
}
