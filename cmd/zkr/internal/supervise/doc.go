// Package supervise runs commands while something is held, and stops them in time.
//
// [Run] waits for a [Target], runs the command of a [RunSpec], and gives back what was
// held. If what is held is lost, or is about to be, the command and all its descendants
// are stopped: TERM, then KILL, early enough that nothing of the command runs when a
// server can grant the target to another client (plan.go).
//
// A supervisor, a process of its own, stands between zkr and each command. The system
// then knows whose each descendant is, and a supervisor whose zkr was killed stops the
// command. [Supervisors] run several commands concurrently; [SupervisorCommand] is the
// hidden command that a supervisor executes.
//
// The package knows no recipe and no command of zkr.
package supervise
