package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// schedule stands for the leader's work.
func schedule(ctx context.Context, l *election.Leadership) error {
	fmt.Println(l.ID(), "leads:", ctx.Err() == nil, "term", l.Term(), "token:", l.Token() > 0)
	return nil
}

// One process of several does the scheduling.
func Example() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	el := election.New(client, "/election/scheduler", &election.Options{ID: "host-1"})
	// The context ends before another candidate can lead, and Run then
	// campaigns again. Run resigns when schedule has returned.
	fmt.Println(el.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
		return schedule(ctx, l)
	}))
	// Output:
	// host-1 leads: true term 0 token: true
	// <nil>
}

// A leader need not be a function: a leadership that was won is kept until it is given
// back, or lost.
func ExampleElector_Campaign() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	l, err := election.New(client, "/election/scheduler", &election.Options{ID: "host-1"}).Campaign(ctx)
	if err != nil {
		panic(err)
	}
	defer l.Resign(context.WithoutCancel(ctx))
	fmt.Println(l.ID(), "leads:", l.Context().Err() == nil)

	if err := server.ExpireSession(l.Session().ID()); err != nil {
		panic(err)
	}
	<-l.Context().Done()
	fmt.Println("lost:", errors.Is(context.Cause(l.Context()), session.ErrLost))
	// Output:
	// host-1 leads: true
	// lost: true
}

// Two candidates, and an observer.
func ExampleElector_Observe() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	stand := func(id string) *election.Leadership {
		l, err := election.New(client, "/election/scheduler", &election.Options{ID: id}).Campaign(ctx)
		if err != nil {
			panic(err)
		}
		return l
	}
	var leader *election.Leadership
	for state, err := range election.New(client, "/election/scheduler", nil).Observe(ctx) {
		switch {
		case err != nil:
			panic(err)
		case state.Leader == nil && leader == nil:
			fmt.Println("no leader")
			leader = stand("host-1")
			continue
		case state.Leader != nil:
			fmt.Println(state.Leader.ID, "leads")
			if err := leader.Resign(ctx); err != nil {
				panic(err)
			}
			continue
		}
		fmt.Println("no leader any more")
		break
	}
	// Output:
	// no leader
	// host-1 leads
	// no leader any more
}

// A place in the queue without a blocked goroutine, as in a dashboard or an
// event loop.
func ExampleElector_Stand() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	first, err := election.New(client, "/election/scheduler", &election.Options{ID: "host-1"}).Campaign(ctx)
	if err != nil {
		panic(err)
	}
	place, err := election.New(client, "/election/scheduler", &election.Options{ID: "host-2"}).Stand(ctx)
	if err != nil {
		panic(err)
	}
	defer place.Withdraw(ctx) // resigns, too

	list, err := election.New(client, "/election/scheduler", nil).Candidates(ctx)
	if err != nil {
		panic(err)
	}
	for _, c := range list {
		fmt.Println(c.ID, "leads:", c.Leads, "waits:", c.Watches != "")
	}
	if err := first.Resign(ctx); err != nil {
		panic(err)
	}
	second, err := place.Await(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(second.ID(), "leads, and", errors.Is(first.Resign(ctx), election.ErrNotLeader))
	// Output:
	// host-1 leads: true waits: false
	// host-2 leads: false waits: true
	// host-2 leads, and true
}

// A user's own test: the work stops when the leadership is lost.
func TestExampleWorkStopsWhenTheLeadershipIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		client, err := session.Connect(t.Context(), server.Addr(), &session.Options{Dialer: server.Dial})
		require.NoError(t, err)
		defer client.Close(context.WithoutCancel(t.Context()))

		l, err := election.New(client, "/election/scheduler", nil).Campaign(t.Context())
		require.NoError(t, err)
		require.NoError(t, server.ExpireSession(l.Session().ID()))
		<-l.Context().Done()
		require.ErrorIs(t, context.Cause(l.Context()), session.ErrLost)
	})
}

// A leader tells the others where it serves.
func ExampleLeadership_Proclaim() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	el := election.New(client, "/election/scheduler", &election.Options{ID: "host-1"})
	l, err := el.Campaign(ctx)
	if err != nil {
		panic(err)
	}
	if err := l.Proclaim(ctx, []byte("http://host-1:8080")); err != nil {
		panic(err)
	}
	leader, err := el.Leader(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s leads, at %s\n", leader.ID, leader.Value)

	if err := l.Resign(ctx); err != nil {
		panic(err)
	}
	fmt.Println(l.Proclaim(ctx, []byte("late")))
	// Output:
	// host-1 leads, at http://host-1:8080
	// election: proclaim /election/scheduler: not the leader: it has resigned before
}

// The preferred host leads next, without deposing the present leader.
func ExampleOptions_priority() {
	server, err := zktest.Start(nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ctx := context.Background()
	client, err := session.Connect(ctx, server.Addr(), nil)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	stand := func(id string, priority int) *election.Candidacy {
		k, err := election.New(client, "/election/scheduler", &election.Options{ID: id, Priority: priority}).Stand(ctx)
		if err != nil {
			panic(err)
		}
		return k
	}
	lead := func(k *election.Candidacy) *election.Leadership {
		l, err := k.Await(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(l.ID(), "leads")
		return l
	}
	first := lead(stand("host-1", 1))
	spare, preferred := stand("host-2", 1), stand("host-3", 10)
	fmt.Println("still leads:", first.Context().Err() == nil)
	if err := first.Resign(ctx); err != nil {
		panic(err)
	}
	second := lead(preferred)
	if err := second.Resign(ctx); err != nil {
		panic(err)
	}
	lead(spare)
	// Output:
	// host-1 leads
	// still leads: true
	// host-3 leads
	// host-2 leads
}
