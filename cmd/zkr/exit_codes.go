package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes of zkr itself. Those from 64 on are sysexits' numbers, which few
// commands use; a command that zkr runs may use them all the same.
const (
	exitFailed       = 1   // anything else; demo: an invariant did not hold
	exitUsage        = 64  // wrong arguments
	exitTaskFailed   = 65  // the task that was waited for has failed
	exitTaskDead     = 66  // its last attempt has failed
	exitTaskCanceled = 67  // it was canceled
	exitUnavailable  = 69  // no server could be reached
	exitUnknown      = 74  // a change may have been made, or not; how a job has ended was not seen
	exitBusy         = 75  // not in time, busy with --try, or somebody else was first
	exitLost         = 76  // lost while the command ran; the command was killed
	exitDenied       = 77  // the servers refuse the credentials, or the znode's ACL does
	exitCannotRun    = 126 // the command exists and cannot be run
	exitNotFound     = 127 // there is no such command
	exitSignal       = 128 // plus the number of the signal that ended the command, or the wait
)

// exitCode is an exit code as the help tells it. Some mean more than one thing.
type exitCode struct {
	code  int
	means string
	of    func(cmd *cobra.Command) bool // whose it is
}

// String is the code, as the help lists it.
func (e exitCode) String() string {
	if e.code == exitSignal {
		return "128+n"
	}
	return strconv.Itoa(e.code)
}

// exitCodes are all of them, in order. This is what the help of each command
// shows, and what tests hold each run against.
//
// read only
var exitCodes = []exitCode{
	{0, "all went well; what goes on until it is ended was ended, by INT or TERM", anyCommand},
	{exitFailed, "anything else", anyCommand},
	{exitUsage, "wrong arguments", anyCommand},
	{exitTaskFailed, "the task that was waited for has failed", only("task submit", "task wait")},
	{exitTaskDead, "the task that was waited for is dead: its last attempt has failed", only("task submit", "task wait")},
	{exitTaskCanceled, "the task that was waited for was canceled", only("task submit", "task wait")},
	{exitUnavailable, "no server could be reached, or none answered", connects},
	{exitUnknown, "a change was sent and no answer came: it may have been made, or not", writes},
	{exitUnknown, "the job is over, and how it has ended was not seen", only("job wait")},
	{exitBusy, "not now: busy (--try), not in time (--timeout), full, or the name is somebody else's", canBeBusy},
	{exitBusy, "the number is another", only("counter cas")},
	{exitBusy, "a job of this name is not over", only("job submit", "job rm")},
	{exitLost, "what was held was lost while the command ran, and the command was stopped", runsCommand},
	{exitDenied, "the servers refuse the credentials, or a znode's ACL does", connects},
	{exitCannotRun, "the command cannot be run", runsCommand},
	{exitNotFound, "there is no such command", runsCommand},
	{exitSignal, "ended by signal n: zkr, or its command", anyCommand},
}

// codesOf are the exit codes of a command, and of those below it: each once, with all
// that it means there.
func codesOf(cmd *cobra.Command) (out []exitCode) {
	for _, e := range exitCodes {
		if !anyBelow(cmd, e.of) {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].code == e.code {
			out[last].means += "; or: " + e.means
			continue
		}
		out = append(out, e)
	}
	return out
}

func anyBelow(cmd *cobra.Command, is func(*cobra.Command) bool) bool {
	return is(cmd) || slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.IsAvailableCommand() && anyBelow(sub, is) })
}

// nameOf is a command's name below zkr: "barrier gate set".
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "zkr"), " ")
}

func anyCommand(*cobra.Command) bool { return true }

// runsCommand reports whether cmd runs a command of the user's. If none of zkr's
// own codes says what has happened it exits as that does.
func runsCommand(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "CMD") }

// connects reports whether cmd talks to servers: all do that have an argument
// that names something there, and some others.
func connects(cmd *cobra.Command) bool {
	return len(nouns(cmd)) > 0 && cmd.Name() != "help" ||
		slices.Contains([]string{"demo cluster", "job ls", "service ls", "ui"}, nameOf(cmd))
}

// writes reports whether cmd changes something, in a way that can remain unknown.
func writes(cmd *cobra.Command) bool {
	reads := []string{"get", "ls", "members", "show", "stats", "status", "tree", "ui", "watch", "workers"}
	return connects(cmd) && !slices.Contains(reads, cmd.Name()) && nameOf(cmd) != "barrier gate wait"
}

// only is for codes of some commands.
func only(names ...string) func(*cobra.Command) bool {
	return func(cmd *cobra.Command) bool { return slices.Contains(names, nameOf(cmd)) }
}

// canBeBusy reports whether somebody else can be in cmd's way.
func canBeBusy(cmd *cobra.Command) bool {
	return runsCommand(cmd) && nameOf(cmd) != "worker" || slices.Contains([]string{
		"barrier await", "barrier gate wait", "job wait", "task requeue", "task submit", "task wait",
	}, nameOf(cmd))
}
