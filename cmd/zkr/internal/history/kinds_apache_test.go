package history_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The clients of every kind of thing are told, with what they had.
func TestEveryKindIsToldOnApache(t *testing.T) {
	dir := t.TempDir()
	cluster := apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Dir: dir, Config: map[string]string{"preAllocSize": "8"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := &scene{T: t, ctx: ctx, connect: cluster.Connect()}
	one, two := s.client(nil), s.client(nil)

	permits, err := lock.NewSemaphore(one, "/permits", 2, &lock.Options{ID: "p"}).Acquire(ctx, 2)
	s.ok(err)
	s.ok(permits.Release(ctx))

	seats := make(chan *barrier.Seat, 2)
	for id, c := range map[string]*session.Client{"left": one, "right": two} {
		// Waited for below; ends with its seat.
		go func() {
			seat, _ := barrier.NewDouble(c, "/double", 2, &barrier.Options{ID: id}).Enter(ctx)
			seats <- seat
		}()
	}
	for range 2 {
		seat := <-seats
		require.NotNil(t, seat)
		s.ok(seat.Release(ctx))
	}

	job, err := workerctl.Submit(ctx, one, workerctl.Spec{Name: "words", Workers: 1}, nil)
	s.ok(err)
	w, err := job.Join(ctx, workerctl.Identity{Name: "host-1"})
	s.ok(err)
	s.ok(w.Fail(ctx, "disk full"))

	admin := rebalanser.Open(two, "/group", nil)
	s.ok(admin.Create(ctx))
	_, err = admin.AddResources(ctx, "r1", "r2")
	s.ok(err)
	s.runs(func(ctx context.Context) error {
		work := rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error { <-ctx.Done(); return nil })
		return rebalanser.New(one, "/group", work, &rebalanser.Options{ID: "owner"}).Run(ctx)
	}, func() bool {
		st, err := admin.Status(ctx)
		return err == nil && len(st.Members) == 1 && len(st.Members[0].Owned) == 2
	})
	s.runs(func(ctx context.Context) error {
		return dispatch.NewWorker(one, "/tasks", func(context.Context, *dispatch.Attempt) ([]byte, error) { return nil, nil }, &dispatch.WorkerOptions{Name: "hand"}).Run(ctx)
	}, func() bool {
		all, err := dispatch.New(two, "/tasks", nil).Workers(ctx)
		return err == nil && len(all) == 1
	})
	f, err := txnlog.OpenFolder("server", files(t, dir))
	s.ok(err)
	text := read(t, "/", f).outline()
	for _, line := range []string{
		"semaphore /permits: p holds, granted, released",
		"double barrier /double: left is inside, granted, released", "double barrier /double: right is inside, granted, released",
		"job /twister2/words: host-1 works for, granted, released",
		"rebalancer /group: owner is in, granted, released", "rebalancer /group: owner owns, granted, released",
		"task queue /tasks: hand works for, granted, released",
	} {
		require.Contains(t, text, line+"\n")
	}
	require.Equal(t, 2, strings.Count(text, "owner owns"))
}

// runs runs fn until it is at work, and then to its end.
func (s *scene) runs(fn func(context.Context) error, atWork func() bool) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	over := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { over <- fn(ctx) }()
	require.Eventually(s, atWork, 30*time.Second, 20*time.Millisecond)
	cancel()
	s.ok(<-over)
}
