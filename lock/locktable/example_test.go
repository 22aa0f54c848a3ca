package locktable_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect connects two clients to a server with the lifetime of the example.
func connect(ctx context.Context) (one, two *session.Client, done func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	clients := make([]*session.Client, 2)
	for i := range clients {
		if clients[i], err = session.Connect(ctx, server.Addr(), nil); err != nil {
			panic(err)
		}
	}
	return clients[0], clients[1], func() { clients[0].Close(ctx); clients[1].Close(ctx); server.Close() }
}

// process stands for the work under a lock.
func process(_ context.Context, shard string, token int64) error {
	fmt.Println("processing", shard, "with a token:", token > 0)
	return nil
}

// processFree processes the shards without another process at work.
func processFree(ctx context.Context, client *session.Client, shards ...string) error {
	owner, err := locktable.New(client, "/locks/shards", nil).Join(ctx)
	if err != nil {
		return err
	}
	defer owner.Release(context.WithoutCancel(ctx))
	held, err := owner.TryLock(ctx, shards...) // one transaction
	if err != nil {
		return err
	}
	for _, lock := range held {
		// The context ends when this lock is lost, or all are: before another process can
		// get the lock.
		err = errors.Join(err, process(lock.Context(), lock.Name(), lock.Token()))
	}
	return errors.Join(err, owner.Unlock(context.WithoutCancel(ctx), held...)) // one transaction
}

func Example() {
	ctx := context.Background()
	one, two, done := connect(ctx)
	defer done()
	other, err := locktable.New(two, "/locks/shards", nil).Join(ctx)
	if err != nil {
		panic(err)
	}
	if _, err := other.TryLock(ctx, "shard-2"); err != nil {
		panic(err)
	}
	fmt.Println(processFree(ctx, one, "shard-1", "shard-2", "shard-3"))
	// Output:
	// processing shard-1 with a token: true
	// processing shard-3 with a token: true
	// <nil>
}

// An Acquirer reports each lock as soon as it is held.
func ExampleAcquirer() {
	ctx := context.Background()
	one, two, done := connect(ctx)
	defer done()
	first, err := locktable.New(one, "/locks/shards", nil).Join(ctx)
	if err != nil {
		panic(err)
	}
	second, err := locktable.New(two, "/locks/shards", nil).Join(ctx)
	if err != nil {
		panic(err)
	}
	theirs, err := first.TryLock(ctx, "shard-2")
	if err != nil {
		panic(err)
	}
	running, stop := context.WithCancel(ctx)
	n := 0
	acquirer := second.Acquirer(func(got []*locktable.Held) {
		for _, lock := range got {
			fmt.Println("got", lock.Name())
			switch n++; n {
			case 1: // the other one is taken as soon as it is free
				if err := first.Unlock(ctx, theirs...); err != nil {
					panic(err)
				}
			case 2:
				stop()
			}
		}
	}, func([]string) {})
	if err := acquirer.Want("shard-1", "shard-2"); err != nil {
		panic(err)
	}
	fmt.Println(acquirer.Run(running)) // until it is stopped
	// Output:
	// got shard-1
	// got shard-2
	// <nil>
}
