// Command zkr locks, shows locks and demonstrates them, on ZooKeeper.
//
//	zkr demo                    watch locks change hands, be lost and be fenced
//	zkr lock PATH -- CMD ...    run a command while holding a lock
//	zkr lock ls PATH            who holds it, who waits
//	zkr serve                   a ZooKeeper for tests, in this process
//
// It runs on Linux and other Unix systems. "zkr help" and "zkr help lock" say
// the rest.
package main

import (
	"context"
	"os"
)

func main() {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv}
	os.Exit(a.run(context.Background(), os.Args[1:]))
}
