package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// ExitCode is an exit code as the help tells it. Some mean more than one thing.
type ExitCode struct {
	Code  int
	Means string
	Of    func(cmd *cobra.Command) bool // whose it is
}

// String is the code, as the help lists it.
func (e ExitCode) String() string {
	if e.Code == exit.CodeSignal {
		return "128+n"
	}
	return strconv.Itoa(e.Code)
}

// ExitCodes are all of them, in order. This is what the help of each command
// shows, and what tests hold each run against.
//
// read only
var ExitCodes = []ExitCode{
	{0, "success; or INT or TERM ended a command that runs until it is ended", anyCommand},
	{exit.CodeFailed, "any other error", anyCommand},
	{exit.CodeUsage, "invalid arguments", anyCommand},
	{exit.CodeTaskFailed, "the awaited task has failed", only("task submit", "task wait")},
	{exit.CodeTaskDead, "the awaited task is dead: its last attempt has failed", only("task submit", "task wait")},
	{exit.CodeTaskCanceled, "the awaited task was canceled", only("task submit", "task wait")},
	{exit.CodeUnavailable, "no server could be reached, or no server answered", Connects},
	{exit.CodeUnknown, "a change was sent, and its reply was lost: the change was made or not", writes},
	{exit.CodeUnknown, "the job has ended, and its outcome is unknown", only("job wait")},
	{exit.CodeBusy, "busy (--try), not in time (--timeout), full, or the name is in use", canBeBusy},
	{exit.CodeBusy, "the number is not OLD", only("counter cas")},
	{exit.CodeBusy, "a job of this name has not ended", only("job submit", "job rm")},
	{exit.CodeLost, "the hold was lost while the command ran, and zkr stopped the command", RunsCommand},
	{exit.CodeLost, "no server has confirmed that zkr gave everything back", only("job janitor", "rebalance join", "task master", "task worker")},
	{exit.CodeDenied, "the servers refuse the credentials, or a znode's ACL refuses the access", Connects},
	{exit.CodeCannotRun, "the command cannot be run", RunsCommand},
	{exit.CodeNotFound, "the command does not exist", RunsCommand},
	{exit.CodeSignal, "signal n ended zkr or its command", anyCommand},
}

// CodesOf are the exit codes of a command, and of those below it: each once, with all
// that it means there.
func CodesOf(cmd *cobra.Command) (out []ExitCode) {
	for _, e := range ExitCodes {
		if !AnyBelow(cmd, e.Of) {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].Code == e.Code {
			out[last].Means += "; or: " + e.Means
			continue
		}
		out = append(out, e)
	}
	return out
}

// AnyBelow reports whether is holds for cmd or a command below it.
func AnyBelow(cmd *cobra.Command, is func(*cobra.Command) bool) bool {
	return is(cmd) || slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.IsAvailableCommand() && AnyBelow(sub, is) })
}

// nameOf is a command's name below zkr: "barrier gate set".
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "zkr"), " ")
}

func anyCommand(*cobra.Command) bool { return true }

// RunsCommand reports whether cmd runs a command of the user's. If none of zkr's
// own codes says what has happened it exits as that does.
func RunsCommand(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "CMD") }

// Connects reports whether cmd talks to servers: all do that have an argument
// that names something there, and some others.
func Connects(cmd *cobra.Command) bool {
	return len(ArgumentNames(cmd)) > 0 && cmd.Name() != "help" ||
		slices.Contains([]string{"demo cluster", "job ls", "service ls", "ui"}, nameOf(cmd))
}

// writes reports whether cmd changes something, in a way that can remain unknown.
func writes(cmd *cobra.Command) bool {
	reads := []string{"get", "ls", "show", "stats", "status", "tree", "ui", "watch", "workers"}
	return Connects(cmd) && !slices.Contains(reads, cmd.Name()) && nameOf(cmd) != "barrier gate wait"
}

// only is for codes of some commands.
func only(names ...string) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool { return slices.Contains(names, nameOf(cmd)) }
}

// canBeBusy reports whether somebody else can be in cmd's way.
func canBeBusy(cmd *cobra.Command) bool {
	return RunsCommand(cmd) && nameOf(cmd) != "task worker" || slices.Contains([]string{
		"barrier await", "barrier gate wait", "job wait", "task requeue", "task submit", "task wait",
	}, nameOf(cmd))
}
