// Command report writes a report, on one machine at a time: the program to begin with.
//
//	zkr serve &                       # a ZooKeeper for tests, if there is none
//	go run ./examples/report & go run ./examples/report &
//	zkr lock ls /locks/report
//
// One of the two works, the other one waits until it has ended, or is lost: kill it, or
// stop it (kill -STOP) for longer than its session lasts and let it go on (kill -CONT).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func main() {
	servers := flag.String("servers", "127.0.0.1:2181", "ZooKeeper's servers, host:port,..., and perhaps a chroot behind the last one")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "report: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2) // as for a flag that there is not
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := nightly(ctx, *servers, nil)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// nightly writes the report on one machine at a time.
func nightly(ctx context.Context, servers string, o *session.Options) error {
	connecting, cancel := context.WithTimeout(ctx, 15*time.Second) // Connect retries until its context ends
	defer cancel()
	client, err := session.Connect(connecting, servers, o)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))

	err = lock.New(client, "/locks/report", nil).Do(ctx, func(ctx context.Context, held *lock.Held) error {
		// This context ends with the outer one, and when the lock is lost: before
		// another process can get the lock. The token grows with every grant, so
		// that the store can refuse a token lower than the highest it has seen.
		return write(ctx, held.Token())
	})
	if errors.Is(err, session.ErrLost) {
		return fmt.Errorf("the report is incomplete: %w", err)
	}
	return err
}

// write stands for the work. It takes ten seconds, and stops when ctx says so.
func write(ctx context.Context, token int64) error {
	for page := range 10 {
		fmt.Printf("process %d, token %d: page %d\n", os.Getpid(), token, page+1)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("stopped at page %d: %w", page+1, context.Cause(ctx))
		}
	}
	return nil
}
