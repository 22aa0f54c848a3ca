package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// underLock calls write while this process holds the lock, with the token of the hold.
func underLock(ctx context.Context, client *session.Client, write func(context.Context, fence.Token) error) error {
	return lock.New(client, "/locks/report", nil).Do(ctx, func(ctx context.Context, held *lock.Held) error {
		token, err := fence.NewIssuer(client, "/fence/epoch", nil).Token(ctx, held)
		if err != nil {
			return err
		}
		return write(ctx, token)
	})
}

// grant takes and releases a lock, and returns the token of the hold.
func grant(ctx context.Context, client *session.Client) (token fence.Token, err error) {
	err = underLock(ctx, client, func(_ context.Context, t fence.Token) error {
		token = t
		return nil
	})
	return token, err
}

// connect starts a ZooKeeper and connects to it.
func connect(ctx context.Context) (client *session.Client, end func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	client, err = session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return client, func() { client.Close(ctx); server.Close() }
}

// A receiver in the memory of its process, and a write of a former holder.
func Example() {
	ctx := context.Background()
	client, end := connect(ctx)
	defer end()
	former, err := grant(ctx, client)
	if err != nil {
		panic(err)
	}
	next, err := grant(ctx, client)
	if err != nil {
		panic(err)
	}

	var receiver fence.Memory
	report := ""
	write := func(token fence.Token, text string) error {
		return receiver.Do(ctx, "report", token, func(context.Context) error {
			report = text
			return nil
		})
	}
	fmt.Println(write(former, "by the first holder"))
	fmt.Println(write(next, "by the second holder"))
	fmt.Println("refused:", errors.Is(write(former, "too late"), fence.ErrStale))
	fmt.Println(report)
	// Output:
	// <nil>
	// <nil>
	// refused: true
	// by the second holder
}

// An object store with conditional writes. A new holder shows its token when it reads.
func ExampleUpdate() {
	ctx := context.Background()
	store := &bucket{}
	former, next := fence.Token{Epoch: 1, Number: 7}, fence.Token{Epoch: 1, Number: 9}
	fmt.Println(fence.Put(ctx, store, "report", former, []byte("one line\n")))
	fmt.Println(fence.Update(ctx, store, "report", next, func(data []byte) ([]byte, error) {
		return append(data, "and another\n"...), nil
	}))
	fmt.Println("refused:", errors.Is(fence.Put(ctx, store, "report", former, nil), fence.ErrStale))
	data, token, err := fence.Get(ctx, store, "report")
	fmt.Printf("%s%v %v\n", data, token, err)
	// Output:
	// <nil>
	// <nil>
	// refused: true
	// one line
	// and another
	// 1-9 <nil>
}

// An ensemble was restored from a backup: its epoch has to be advanced.
func ExampleIssuer_Advance() {
	ctx := context.Background()
	client, end := connect(ctx)
	defer end()
	before, err := grant(ctx, client)
	if err != nil {
		panic(err)
	}
	epoch, err := fence.NewIssuer(client, "/fence/epoch", nil).Advance(ctx, before.Epoch)
	fmt.Println(epoch > before.Epoch, err)
	after, err := grant(ctx, client)
	fmt.Println(after.Epoch == epoch, err)
	// Output:
	// true <nil>
	// true <nil>
}
