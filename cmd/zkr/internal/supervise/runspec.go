package supervise

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// RunSpec is a command to run under a hold.
type RunSpec struct {
	Target
	Argv    []string
	timeout time.Duration // of the wait, from zkr's start; 0: none
	Try     bool          // do not wait for others
	Grace   time.Duration
	graceIs bool // given by the user, not the default
	Again   bool // after a loss: wait for the hold again, and run the command again
}

// Target is the hold of a command.
type Target struct {
	Name        string        // for people: "the lock /locks/a"
	ListCommand string        // the command that shows the holder
	EnvPrefix   string        // prefix of the command's variables: "ZKR_LOCK"
	Delay       time.Duration // how long others wait before they follow a lost holder
	Renewed     bool          // the hold is never lost while the command runs
	Outlasts    bool          // the hold does not end with the session
	Acquire     func(context.Context, *session.Client) (*Hold, error)
	// WaitsFor is called before Acquire, and returns what says for whom the wait is. nil: the
	// target is not waited for.
	WaitsFor func(context.Context, *session.Client) Tell
}

// Tell says for whom a wait is, for people; "" if for no one any more.
type Tell func(context.Context) (string, error)

// Holdable is the common part of the library's holds.
type Holdable interface {
	Context() context.Context  // ends with the hold
	Path() string              // of the hold's znode
	Session() *session.Session // nil: the session changes
}

// Hold is a hold with its release.
type Hold struct {
	Holdable
	Token   int64    // 0: no token
	Vars    []string // NAME=value, for the command's environment
	Release func(context.Context) error
	// AwaitRequest returns nil when another client asks for the hold; nil: none can ask.
	AwaitRequest func(context.Context) error
	// TakenBy says, after the loss, who took the hold away and why; "" if it was lost in
	// another way. It is nil for holds that have no such record.
	TakenBy func(context.Context) string
	// Patient: the release waits for others, until a signal.
	Patient bool
	// Finishes: the release records that the command has done its part.
	// Otherwise the session's end takes the hold away.
	Finishes bool
}

// RunHelp is the part of the help that all commands share that run a command.
const RunHelp = `
CMD runs in a process group of its own, with zkr's stdin, stdout and stderr, and in
the foreground if zkr was in the foreground. zkr passes the signals INT, TERM, HUP,
QUIT, USR1, USR2 and WINCH on to the group. While zkr waits, INT, TERM, HUP and QUIT
end the wait, and leave no znode behind. A wait of more than a second is explained on
stderr: who holds, for how long or at least how long, and how many are ahead; on a
terminal in one line that is renewed.

If the hold is lost while CMD runs, zkr stops CMD: the group gets TERM, then KILL
after --grace, and is gone before a server can grant the hold to another client.
"zkr lock --help" describes the details, the limits, and the session timeout that a
grace requires. If zkr cannot give the hold back when CMD has ended, because no server
answers, a note on stderr says how long the hold may stay taken, and zkr exits as CMD
did.
`

// RunFlags are the flags of all commands that run a command.
func (e *RunSpec) RunFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&e.timeout, "timeout", 0, "how long to wait, connecting included; 0: no limit")
	f.DurationVar(&e.Grace, "grace", DefaultGrace, "time between TERM and KILL when the command must stop")
}

// Timeout is the time limit of the wait; 0: none.
func (e *RunSpec) Timeout() time.Duration { return e.timeout }

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
