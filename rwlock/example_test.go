package rwlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect connects to a server that lives as long as the example.
func connect(ctx context.Context) (*session.Client, func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return client, func() { _ = errors.Join(client.Close(ctx), server.Close()) }
}

// Readers are in together; a writer waits until all of them have left.
func Example() {
	ctx := context.Background()
	client, stop := connect(ctx)
	defer stop()

	mu := rwlock.New(client, "/locks/catalog", nil)
	held, err := mu.RLock(ctx) // ctx bounds the wait, not the hold
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := mu.TryRLock(ctx)
	fmt.Println("a second reader:", err)
	_, err = mu.TryLock(ctx)
	fmt.Println("a writer is refused:", errors.Is(err, rwlock.ErrBusy))
	fmt.Println(other.Unlock(ctx), held.Unlock(ctx))

	// A reader that asked to write would wait for itself.
	err = mu.RDo(ctx, func(ctx context.Context, _ *rwlock.Held) error {
		_, err := mu.Lock(ctx)
		return err
	})
	fmt.Println("an upgrade is refused:", errors.Is(err, rwlock.ErrUpgrade))
	// Output:
	// a second reader: <nil>
	// a writer is refused: true
	// <nil> <nil>
	// an upgrade is refused: true
}

// A writer goes on as a reader of its own changes: no other writer comes in between.
func ExampleHeld_Downgrade() {
	ctx := context.Background()
	client, stop := connect(ctx)
	defer stop()

	mu := rwlock.New(client, "/locks/catalog", nil)
	writer, err := mu.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer writer.Unlock(context.WithoutCancel(ctx)) // if the downgrade fails
	reader, err := writer.Downgrade(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Unlock(context.WithoutCancel(ctx))

	_, err = mu.TryLock(ctx)
	fmt.Println("another writer is refused:", errors.Is(err, rwlock.ErrBusy))
	other, err := mu.TryRLock(ctx)
	fmt.Println("another reader:", err)
	fmt.Println("the writer's context:", context.Cause(writer.Context()))
	fmt.Println(other.Unlock(ctx))
	// Output:
	// another writer is refused: true
	// another reader: <nil>
	// the writer's context: released by its owner
	// <nil>
}
