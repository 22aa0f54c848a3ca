package election_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

func neverLeads(w *World) func(context.Context, *election.Leadership) error {
	return func(context.Context, *election.Leadership) error {
		w.Error("it leads")
		return nil
	}
}

// calls are all methods of an elector that can fail.
func calls(w *World, e *election.Elector) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Campaign":   func(ctx context.Context) error { _, err := e.Campaign(ctx); return err },
		"Stand":      func(ctx context.Context) error { _, err := e.Stand(ctx); return err },
		"Run":        func(ctx context.Context) error { return e.Run(ctx, neverLeads(w)) },
		"Leader":     func(ctx context.Context) error { _, err := e.Leader(ctx); return err },
		"Candidates": func(ctx context.Context) error { _, err := e.Candidates(ctx); return err },
		"Observe": func(ctx context.Context) (last error) {
			for _, last = range e.Observe(ctx) {
			}
			return last
		},
	}
}

func TestWrongArgumentsAreErrorsOfTheFirstCall(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		for name, tc := range map[string]struct {
			e     *election.Elector
			field string
		}{
			"relative":   {election.New(c, "election", nil), "path"},
			"empty":      {election.New(c, "", nil), "path"},
			"root":       {election.New(c, "/", nil), "path"},
			"nil client": {election.New(nil, dir, nil), "client"},
			"layout":     {election.New(c, dir, &election.Options{Layout: 7}), "Layout"},
			"negative":   {election.New(c, dir, &election.Options{Layout: -1}), "Layout"},
			"priority":   {election.New(c, dir, &election.Options{Priority: -1}), "Priority"},
			"too high":   {election.New(c, dir, &election.Options{Priority: election.MaxPriority + 1}), "Priority"},
			"tenure":     {election.New(c, dir, &election.Options{Priority: 1, PreemptAfter: -1}), "PreemptAfter"},
			"unranked":   {election.New(c, dir, &election.Options{PreemptAfter: 1}), "PreemptAfter"},
			"id":         {election.New(c, dir, &election.Options{ID: "\xff"}), "ID"},
		} {
			for method, call := range calls(w, tc.e) {
				err := call(w.Ctx)
				require.ErrorIs(w, err, election.ErrInvalidArgument, "%s, %s", name, method)
				require.Contains(w, err.Error(), tc.field)
			}
		}
		_, err := election.New(c, "election", nil).Campaign(w.Ctx)
		require.ErrorIs(w, err, session.ErrInvalidPath)
		err = elector(c, "").Run(w.Ctx, nil)
		require.ErrorIs(w, err, election.ErrInvalidArgument)
		require.Contains(w, err.Error(), "fn")
		require.Len(w, w.Server.Dump(), 1, "the root")
	})
}

func TestAwaitWithAnEndedContextSendsNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		k := w.stand(elector(c, "me"))
		w.Settle()
		ctx := w.Within(0)
		<-ctx.Done()
		before := w.Requests(c)
		require.ErrorIs(w, elector(c, "me").Run(ctx, nil), ctx.Err(), "the context comes first")
		_, err := k.Await(ctx)
		require.ErrorIs(w, err, ctx.Err())
		require.Equal(w, before, w.Requests(c))
		require.NoError(w, k.Withdraw(w.Ctx))
	})
}

func TestDefaults(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for _, o := range []*election.Options{nil, {}} {
			e := election.New(w.Client(), dir, o)
			require.Equal(w, dir, e.Path())
			l := w.campaign(e)
			require.Equal(w, holding.DefaultID(), l.ID())
			leader, err := e.Leader(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, holding.DefaultID(), leader.ID)
			w.resign(l)
		}
		// Empty data is data, as Curator's participants without an id have.
		l := w.campaign(election.New(w.Client(), dir, &election.Options{ID: "me", Data: []byte{}}))
		require.Equal(w, "me", l.ID())
		leader, err := elector(w.Client(), "").Leader(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, leader.ID)
		require.Equal(w, l.Path(), dir+"/"+leader.Name)
		w.resign(l)
	})
}

// A caller that changes its slices after New changes no candidate.
func TestOptionsAreThoseOfTheCallOfNew(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		data, acl := []byte("then"), session.WorldACL(zk.PermAll)
		e := election.New(w.Client(), dir, &election.Options{Data: data, ACL: acl})
		copy(data, "late")
		acl[0].Perms = zk.PermRead
		l := w.campaign(e)
		node, err := w.Server.Get(l.Path())
		require.NoError(w, err)
		require.Equal(w, "then", string(node.Data))
		has, _, err := l.Session().ACL(w.Ctx, l.Path())
		require.NoError(w, err)
		require.Equal(w, session.WorldACL(zk.PermAll), has)
		w.resign(l)
	})
}
