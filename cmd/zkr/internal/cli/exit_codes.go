package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// ExitCode is an exit code with one meaning, as the help lists it. Some codes have
// several meanings.
type ExitCode struct {
	Code  int
	Means string
	Of    func(cmd *cobra.Command) bool // reports whether cmd has this code
}

// String is the code, as the help lists it.
func (e ExitCode) String() string {
	if e.Code == exit.CodeSignal {
		return "128+n"
	}
	return strconv.Itoa(e.Code)
}

// ExitCodes are all exit codes, in order. The help of each command shows its codes,
// and tests compare the code of each run with the help.
//
// read only
var ExitCodes = []ExitCode{
	{0, "success; or INT or TERM ended a command that runs until it is ended", anyCommand},
	{exit.CodeFailed, "any other error", anyCommand},
	{exit.CodeUsage, "invalid arguments", anyCommand},
	{exit.CodeTaskFailed, "the awaited task has failed", has(AwaitsTask)},
	{exit.CodeTaskDead, "the awaited task is dead: its last attempt has failed", has(AwaitsTask)},
	{exit.CodeTaskCanceled, "the awaited task was canceled", has(AwaitsTask)},
	{exit.CodeUnavailable, "no server could be reached, or no server answered", TalksToServers},
	{exit.CodeUnknown, "a change was sent, and its reply was lost: the change was made or not", writes},
	{exit.CodeUnknown, "the job has ended, and its outcome is unknown", has(AwaitsJob)},
	{exit.CodeBusy, "busy (--try), not in time (--timeout), full, or the name is in use", canBeBusy},
	{exit.CodeBusy, "the number or the bytes are not OLD, or not those of --if-zxid", has(Compares)},
	{exit.CodeBusy, "a job of this name has not ended", has(NeedsFreeName)},
	{exit.CodeLost, "the hold was lost while the command ran, and zkr stopped the command", holds},
	{exit.CodeLost, "no server has confirmed that zkr gave everything back", has(HasRole)},
	{exit.CodeDenied, "the servers refuse the credentials, or a znode's ACL refuses the access", TalksToServers},
	{exit.CodeCannotRun, "the command cannot be run", RunsCommand},
	{exit.CodeNotFound, "the command does not exist", RunsCommand},
	{exit.CodeSignal, "signal n ended zkr or its command", anyCommand},
}

// CodesOf are the exit codes of a command and of the commands below it: each code once,
// with all its meanings there.
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

func anyCommand(*cobra.Command) bool { return true }

// RunsCommand reports whether cmd runs a command of the user's. If none of zkr's own
// codes applies, zkr exits with the code of the user's command.
func RunsCommand(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "CMD") }

// A Trait of a command decides which exit codes the command has. A command is defined
// with its traits; see [Does].
type Trait string

// The traits. A command that talks to servers, and has neither Reads nor CanBeBusy, makes
// changes that no other client can block.
const (
	Connects      Trait = "connects"        // it talks to servers, though no argument says where
	Reads         Trait = "reads"           // it changes nothing
	CanBeBusy     Trait = "can be busy"     // another client can block it
	HasRole       Trait = "has a role"      // it continues until it is ended, and gives back what it has
	AwaitsTask    Trait = "awaits a task"   // it waits for the end of a task
	AwaitsJob     Trait = "awaits a job"    // it waits for the end of a job
	Compares      Trait = "compares"        // it changes something on condition of what it was
	ReadsFiles    Trait = "reads files"     // it talks to no server, though an argument names a znode
	NeedsFreeName Trait = "needs free name" // it fails while a job of the name exists
)

// Does are the annotations of a command with these traits.
func Does(traits ...Trait) map[string]string {
	out := map[string]string{}
	for _, t := range traits {
		out[string(t)] = "yes"
	}
	return out
}

// has is for codes of commands with a trait.
func has(t Trait) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool { return cmd.Annotations[string(t)] != "" }
}

// TalksToServers reports whether cmd talks to servers: cmd has an argument that names
// something in ZooKeeper, or the trait Connects.
func TalksToServers(cmd *cobra.Command) bool {
	return !has(ReadsFiles)(cmd) && len(ArgumentNames(cmd)) > 0 && cmd.Name() != "help" || has(Connects)(cmd)
}

// writes reports whether cmd makes changes, whose outcome can remain unknown.
func writes(cmd *cobra.Command) bool { return TalksToServers(cmd) && !has(Reads)(cmd) }

// holds reports whether cmd runs a command of the user's while it holds something.
func holds(cmd *cobra.Command) bool { return RunsCommand(cmd) && !has(HasRole)(cmd) }

// canBeBusy reports whether another client can block cmd.
func canBeBusy(cmd *cobra.Command) bool { return holds(cmd) || has(CanBeBusy)(cmd) }
