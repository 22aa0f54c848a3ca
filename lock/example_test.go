package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// write stands for the work under the lock.
func write(ctx context.Context, token int64) error {
	fmt.Println("writing, allowed:", ctx.Err() == nil, "token:", token > 0)
	return nil
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

// The function of README.md.
func Example() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	fmt.Println(nightly(context.Background(), server.Addr(), nil))
	// Output:
	// writing, allowed: true token: true
	// <nil>
}

// connect connects to a server that lives as long as the example.
func connect(ctx context.Context) (*zktest.Server, *session.Client, func()) {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	return server, client, func() { client.Close(ctx); server.Close() }
}

// store is a resource outside ZooKeeper that refuses former holders of the lock.
type store struct {
	highest int64
	text    string
}

// put is one step: the comparison of the token and the write must be atomic. In
// SQL, put is an update "where token <= $1".
func (s *store) put(token int64, text string) error {
	if token < s.highest {
		return errors.New("refused: another client has had the lock since")
	}
	s.highest, s.text = token, text
	return nil
}

// A holder writes late, after a pause longer than its session, and the late write
// is refused.
func ExampleHeld_Token() {
	ctx := context.Background()
	server, client, done := connect(ctx)
	defer done()
	mu := lock.New(client, "/locks/report", nil)
	former, err := mu.Lock(ctx)
	if err != nil {
		panic(err)
	}
	var report store
	fmt.Println(report.put(former.Token(), "draft"))

	if err := server.ExpireSession(former.Session().ID()); err != nil {
		panic(err)
	}
	held, err := mu.Lock(ctx) // in the next session
	if err != nil {
		panic(err)
	}
	defer held.Unlock(ctx)
	fmt.Println(report.put(held.Token(), "final"))
	fmt.Println(report.put(former.Token(), "late"))
	fmt.Println("lost:", errors.Is(former.Unlock(ctx), session.ErrLost))
	// Output:
	// <nil>
	// <nil>
	// refused: another client has had the lock since
	// lost: true
}

// Write data in ZooKeeper together with a guard: the servers refuse the write once the
// lock is lost, whatever its former holder believes.
func ExampleHeld_Guard() {
	ctx := context.Background()
	server, client, done := connect(ctx)
	defer done()
	if err := server.Create("/report", nil); err != nil {
		panic(err)
	}
	held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
	if err != nil {
		panic(err)
	}
	defer held.Unlock(ctx)
	publish := func(text string) {
		_, err := held.Session().Txn(ctx, held.Guard(), session.SetOp("/report", []byte(text), -1))
		var refused *session.TxnError
		switch {
		case errors.As(err, &refused) && refused.Path == held.Path():
			fmt.Println("the lock is gone, and nothing was written")
		default:
			fmt.Println(err)
		}
	}
	publish("final")
	if err := server.Delete(held.Path()); err != nil { // an administrator does
		panic(err)
	}
	publish("late")
	now, err := server.Get("/report")
	fmt.Printf("%s %v\n", now.Data, err)
	// Output:
	// <nil>
	// the lock is gone, and nothing was written
	// final <nil>
}

// At most three encoders at a time, however many machines there are.
func ExampleSemaphore() {
	ctx := context.Background()
	_, client, done := connect(ctx)
	defer done()
	slots := lock.NewSemaphore(client, "/slots/encode", 3, nil) // all say 3
	two, err := slots.Acquire(ctx, 2)
	if err != nil {
		panic(err)
	}
	_, err = slots.TryAcquire(ctx, 2)
	fmt.Println("two more are too many:", errors.Is(err, lock.ErrBusy))
	one, err := slots.TryAcquire(ctx, 1)
	fmt.Println("one more:", err)
	_, err = lock.NewSemaphore(client, "/slots/encode", 4, nil).Acquire(ctx, 1)
	fmt.Println(err)
	fmt.Println(two.Release(ctx), one.Release(ctx))
	// Output:
	// two more are too many: true
	// one more: <nil>
	// lock: acquire /slots/encode: wrong number of permits: 4 here, but the path says "3"
	// <nil> <nil>
}

// From one account to another: both are locked, and two transfers in opposite
// directions do not wait for each other indefinitely.
func ExampleAll() {
	ctx := context.Background()
	_, client, done := connect(ctx)
	defer done()
	account := func(name string) *lock.Mutex { return lock.New(client, "/accounts/"+name, nil) }
	both, err := lock.All(account("bob"), account("ann")).Lock(ctx)
	if err != nil {
		panic(err)
	}
	_, err = account("ann").TryLock(ctx)
	fmt.Println("ann's is locked:", errors.Is(err, lock.ErrBusy))
	fmt.Println(both.Context().Err(), both.Token() > 0, both.Unlock(ctx))
	// Output:
	// ann's is locked: true
	// <nil> true <nil>
}

// The test of docs/testing.md.
func TestReportStopsWhenTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		client, err := session.Connect(t.Context(), server.Addr(), &session.Options{Dialer: server.Dial})
		require.NoError(t, err)
		defer client.Close(context.WithoutCancel(t.Context()))

		held, err := lock.New(client, "/locks/report", nil).Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, server.ExpireSession(held.Session().ID()))
		<-held.Context().Done()
		require.ErrorIs(t, context.Cause(held.Context()), session.ErrLost)
	})
}

// A place in the queue without a blocked goroutine, as in an event loop.
func ExampleMutex_Enqueue() {
	ctx := context.Background()
	_, client, closeAll := connect(ctx)
	defer closeAll()

	held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
	if err != nil {
		panic(err)
	}
	place, err := lock.New(client, "/locks/report", nil).Enqueue(ctx)
	if err != nil {
		panic(err)
	}
	defer place.Withdraw(ctx) // releases the lock, too

	ahead, err := place.Ahead(ctx)
	fmt.Println("ahead:", ahead, err)
	if err := held.Unlock(ctx); err != nil {
		panic(err)
	}
	next, err := place.Await(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("held:", next.Context().Err() == nil)
	// Output:
	// ahead: 1 <nil>
	// held: true
}
