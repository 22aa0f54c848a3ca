// Command zkr coordinates processes through ZooKeeper: zkr runs commands under
// locks, as a leader, together with others or as a member, shows holders, leaders,
// waiting contenders and members, and demonstrates the guarantees of a lock.
//
//	zkr demo                            watch locks change hands, be lost and be fenced
//	zkr lock PATH -- CMD                run a command while holding a lock
//	zkr rwlock read|write PATH -- CMD   ... shared with other readers, or alone
//	zkr elect PATH -- CMD               ... while leading
//	zkr barrier await|enter|gate        wait for each other
//	zkr counter add|next|...            shared numbers, unique numbers
//	zkr value get|set|cas|watch         shared bytes
//	zkr members ls, zkr service ls      members and instances; join while a command runs
//	zkr job submit|join|wait|...        the workers of a job, numbered without a gap
//	zkr rebalance add|join|status|...   resources shared out among members
//	zkr task submit|master|worker|...   queues of tasks, their masters and workers
//	zkr watch PATH, zkr tree PATH       changes of znodes; existing znodes
//	zkr ui                              a web page of all these
//	zkr serve                           a ZooKeeper for tests, in this process
//
// Linux and other Unix systems are supported. "zkr help" and "zkr help lock"
// describe the commands.
package main

import (
	"context"
	"os"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

func main() {
	os.Exit(ofThisProcess().run(context.Background(), os.Args[1:]))
}

// ofThisProcess makes the app of this process.
func ofThisProcess() *app {
	return &app{App: cli.App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, CompletionLimit: cli.CompleteLimit}}
}
