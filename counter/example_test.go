package counter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// connect connects an example to a server of its own.
func connect(ctx context.Context) (client *session.Client, done func()) {
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

func Example() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	hits := counter.New(client, "/counters/hits", nil)
	n, err := hits.Add(ctx, 3)
	fmt.Println(n, err)
	n, err = hits.Increment(ctx)
	fmt.Println(n, err)
	// Output:
	// 3 <nil>
	// 4 <nil>
}

// The caller handles a change whose outcome is unknown.
func ExampleCounter_Add() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	paid := counter.New(client, "/counters/paid", nil)
	switch total, err := paid.Add(ctx, 250); {
	case errors.Is(err, session.ErrUnknownOutcome):
		fmt.Println("it may have been added: look before you add it again")
	case err != nil:
		fmt.Println("surely not added:", err)
	default:
		fmt.Println("added, now", total)
	}
	// Output: added, now 250
}

func ExampleCounter_CompareAndSwap() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	schema := counter.New(client, "/counters/schema", nil)
	first, _ := schema.CompareAndSwap(ctx, 0, 1)
	second, _ := schema.CompareAndSwap(ctx, 0, 1)
	fmt.Println(first, second)
	// Output: true false
}

func ExampleCounter_Watch() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	jobs := counter.New(client, "/counters/jobs", nil)
	if err := jobs.Set(ctx, 3); err != nil {
		panic(err)
	}
	for state, err := range jobs.Watch(ctx) {
		if err != nil || state.Value == 0 {
			break
		}
		fmt.Println("left:", state.Value)
		if _, err := jobs.Decrement(ctx); err != nil {
			panic(err)
		}
	}
	// Output:
	// left: 3
	// left: 2
	// left: 1
}

func ExampleShared() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	workers := counter.NewShared(client, "/config/workers", 4, nil) // Curator's SharedCount
	seen, err := workers.Get(ctx)
	if err != nil {
		panic(err)
	}
	doubled, err := workers.TrySet(ctx, seen, 2*seen.Value)
	fmt.Println(seen.Value, doubled, err)
	stale, err := workers.TrySet(ctx, seen, 100)
	fmt.Println(stale, err)
	// Output:
	// 4 true <nil>
	// false <nil>
}

func ExampleSequence() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	invoices := counter.NewSequence(client, "/sequences/invoice", nil)
	for range 3 {
		n, err := invoices.Next(ctx)
		fmt.Println(n, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

// Wait until three pieces of work are done, by whatever processes.
func ExampleLatch() {
	ctx := context.Background()
	client, done := connect(ctx)
	defer done()

	shards := counter.NewLatch(client, "/latches/shards", nil)
	begun, err := shards.TrySetCount(ctx, 3)
	fmt.Println(begun, err)
	for range 3 {
		left, err := shards.CountDown(ctx)
		fmt.Println(left, err)
	}
	fmt.Println(shards.Await(ctx))
	// Output:
	// true <nil>
	// 2 <nil>
	// 1 <nil>
	// 0 <nil>
	// <nil>
}

// Users can test their handling of an unknown outcome in virtual time, with a
// lost reply and a lost session.
func TestUsersCanMakeAnOutcomeUnknown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		paid := counter.New(w.Client(), path, nil)
		w.add(paid, 1)
		w.Server.FailNth(writes, 1, zktest.Action{Do: zktest.ExpireAfter})
		_, err := paid.Add(w.Within(time.Minute), 250)
		require.ErrorIs(w, err, session.ErrUnknownOutcome)
		require.ErrorIs(w, err, session.ErrLost)
		require.EqualValues(w, 251, w.value())
	})
}
