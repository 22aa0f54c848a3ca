package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// write stands for what the lock protects.
func write(ctx context.Context, token int64) error {
	fmt.Println("writing, allowed:", ctx.Err() == nil, "token:", token > 0)
	return nil
}

// nightly writes the report on one machine at a time.
func nightly(ctx context.Context, servers string, o *session.Options) error {
	client, err := session.Connect(ctx, servers, o)
	if err != nil {
		return err
	}
	defer client.Close(context.WithoutCancel(ctx))

	mu := lock.New(client, "/locks/report", nil)
	held, err := mu.Lock(ctx) // ctx bounds the wait, not the hold
	if err != nil {
		return err
	}
	defer held.Unlock(context.WithoutCancel(ctx))

	// The context ends before anybody else can get the lock. The token grows
	// with every grant: let the store refuse a lower one than it has seen.
	err = write(held.Context(), held.Token())
	if cause := context.Cause(held.Context()); errors.Is(cause, session.ErrLost) {
		return fmt.Errorf("the report is incomplete: %w", cause)
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
