package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// seen is the outcome of a create under a fault.
type seen struct{ applied, answered, expired, canceled bool }

func TestEachFaultDoesWhatItsNameSays(t *testing.T) {
	want := map[matrix.Fault]seen{
		"":                   {applied: true, answered: true},
		matrix.LostRequest:   {},
		matrix.LostReply:     {applied: true},
		matrix.Cut:           {applied: true, answered: true},
		matrix.BlackHole:     {},
		matrix.SilentReply:   {applied: true},
		matrix.Expire:        {expired: true},
		matrix.ExpireAfter:   {applied: true, expired: true},
		matrix.CancelContext: {applied: true, answered: true, canceled: true},
		matrix.CancelLost:    {canceled: true},
		matrix.CancelUnknown: {applied: true, canceled: true},
		matrix.Pause:         {applied: true, answered: true},
		matrix.Outage:        {},
	}
	require.Len(t, want, len(matrix.All())+1)
	got := map[matrix.Fault]seen{}
	res := matrix.Explore(t, matrix.Case{
		Name:  "one create",
		Setup: setup,
		Op: func(ctx context.Context, e *matrix.Env) error {
			id := e.State.(*zk.Conn).SessionID()
			_, err := e.State.(*zk.Conn).Create("/a", nil, 0, open())
			s := seen{answered: err == nil, expired: true, canceled: ctx.Err() != nil}
			for _, live := range e.Server.Sessions() {
				s.expired = s.expired && live.ID != id
			}
			_, errGet := e.Server.Get("/a")
			s.applied = errGet == nil
			got[e.Fault] = s
			if e.Fault == "" {
				return err
			}
			return nil
		},
	})
	require.Empty(t, res.Failures)
	require.Equal(t, want, got)
}

func TestFreezeStopsAllForAWhileAndTheOperationEndsIt(t *testing.T) {
	for _, servers := range []int{1, 3} {
		took := map[int]time.Duration{} // by the number of the faulted request
		res := matrix.Explore(t, matrix.Case{
			Name: "two reads", Faults: []matrix.Fault{matrix.Freeze}, Options: &zktest.Options{Servers: servers}, Setup: setup,
			Op: func(_ context.Context, e *matrix.Env) error {
				read := func() error { _, _, err := e.State.(*zk.Conn).Exists("/a"); return err }
				began := time.Now()
				err := errors.Join(read(), retry(read))
				took[e.Request] = time.Since(began)
				return err
			},
			Check: func(e *matrix.Env) error {
				_, err := connect(e, e.DialOther)
				return errors.Join(e.Err, err)
			},
		})
		require.Equal(t, 2, res.Cases)
		require.Empty(t, res.Failures)
		require.Zero(t, took[0])
		require.Greater(t, took[1], 8*time.Second)
		require.Zero(t, took[2])
	}
}

func TestDefaultCountsLeavesBackgroundRequestsOut(t *testing.T) {
	for op, counts := range map[string]bool{
		"create": true, "getData": true, "sync": true, "multi": true, "exists": true, "addWatch": true,
		"connect": false, "ping": false, "setWatches": false, "setWatches2": false, "setAuth": false, "closeSession": false,
	} {
		require.Equal(t, counts, matrix.DefaultCounts(zktest.Request{Op: op}), op)
	}
	require.False(t, matrix.DefaultCounts(zktest.Request{Op: "multi", OnlyChecks: true}))
}

func TestOtherClientsAreNeitherCountedNorBroken(t *testing.T) {
	res := matrix.Explore(t, matrix.Case{
		Name: "two clients",
		Setup: func(e *matrix.Env) error {
			other, err := connect(e, e.DialOther)
			e.State = other
			return err
		},
		Op: func(_ context.Context, e *matrix.Env) error {
			tested, err := connect(e, e.Dial)
			if err != nil {
				return err
			}
			for i := range 5 {
				if _, err := e.State.(*zk.Conn).Create(fmt.Sprint("/other", i), nil, 0, open()); err != nil {
					return fmt.Errorf("other client: %w", err)
				}
			}
			_, _, err = tested.Exists("/x")
			return err
		},
		Check: func(e *matrix.Env) error {
			if e.Err != nil && !lost(e.Err) {
				return e.Err
			}
			if n := len(e.Server.Dump()); n != 6 {
				return fmt.Errorf("%d nodes", n)
			}
			return nil
		},
		Faults: []matrix.Fault{matrix.LostReply, matrix.LostRequest},
	})
	require.Equal(t, 1, res.Requests)
	require.Equal(t, 2, res.Cases)
	require.Empty(t, res.Failures)
}
