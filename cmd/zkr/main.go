// Command zkr coordinates processes through ZooKeeper: it runs commands under
// locks, as a leader, together with others or as a member, shows who holds, leads,
// waits and is there, and demonstrates what a lock can promise.
//
//	zkr demo                            watch locks change hands, be lost and be fenced
//	zkr lock PATH -- CMD                run a command while holding a lock
//	zkr rwlock read|write PATH -- CMD   ... shared with other readers, or alone
//	zkr elect PATH -- CMD               ... while leading
//	zkr barrier await|enter|gate        wait for each other
//	zkr counter add|next|...            shared numbers, unique numbers
//	zkr members ls, zkr service ls      who is there; join while a command runs
//	zkr job submit|join|wait|...        the workers of a job, numbered without a gap
//	zkr rebalance add|join|status|...   resources shared out among members
//	zkr task submit|master|worker|...   queues of tasks, their masters and workers
//	zkr watch PATH, zkr tree PATH       what changes; what exists
//	zkr ui                              a web page of all that
//	zkr serve                           a ZooKeeper for tests, in this process
//
// It runs on Linux and other Unix systems. "zkr help" and "zkr help lock" say
// the rest.
package main

import (
	"context"
	"os"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

func main() {
	os.Exit(ofThisProcess().run(context.Background(), os.Args[1:]))
}

// ofThisProcess is the run of zkr that this process is.
func ofThisProcess() *app {
	return &app{App: cli.App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, CompletionLimit: cli.CompleteLimit}}
}
