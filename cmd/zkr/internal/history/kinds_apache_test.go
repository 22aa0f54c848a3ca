package history_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// The clients of every kind of thing are told, with what they had.
func TestEveryKindIsToldOnApache(t *testing.T) {
	dir := t.TempDir()
	s, _ := startScene(t, dir)
	defer s.end()
	ctx := s.ctx
	one, two := s.client(nil), s.client(nil)

	stuck := lock.New(one, "/locks/stuck", &lock.Options{ID: "ann"})
	_, err := stuck.Lock(ctx)
	s.ok(err)
	holders, err := stuck.Contenders(ctx)
	s.ok(err)
	s.ok(lock.New(two, "/locks/stuck", nil).Break(ctx, holders[0], "bob", "ann has hung since noon"))
	leader := election.New(one, "/leader", &election.Options{ID: "ann"})
	_, err = leader.Campaign(ctx)
	s.ok(err)
	candidates, err := leader.Candidates(ctx)
	s.ok(err)
	s.ok(election.New(two, "/leader", nil).Depose(ctx, candidates[0], "bob", "too slow"))

	_, err = rwlock.New(one, "/rw", &rwlock.Options{ID: "rita"}).RLock(ctx)
	s.ok(err)
	readers, err := rwlock.New(two, "/rw", nil).Contenders(ctx)
	s.ok(err)
	s.ok(rwlock.New(two, "/rw", nil).Break(ctx, readers[0], "bob", "rita sleeps"))
	slots := map[string]*lock.Options{"/slots": {ID: "sam"}, "/leases": {ID: "sam", CuratorV2: true}}
	for path, o := range slots {
		_, err = lock.NewSemaphore(one, path, 2, o).Acquire(ctx, 1)
		s.ok(err)
		semaphore := lock.NewSemaphore(two, path, 2, o)
		takers, err := semaphore.Contenders(ctx)
		s.ok(err)
		s.ok(semaphore.Break(ctx, takers[0], "bob", "sam is gone"))
	}

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
	told := read(t, "/", f)
	text := told.outline()
	broken := map[string]string{}
	for _, st := range told.stays {
		if st.How == history.Broken {
			broken[st.Path] = st.BrokenBy + ": " + st.Reason
		}
	}
	require.Equal(t, map[string]string{
		"/locks/stuck": "bob: ann has hung since noon", "/leader": "bob: too slow", "/rw": "bob: rita sleeps", "/slots": "bob: sam is gone", "/leases": "bob: sam is gone",
	}, broken)
	var suspected []string
	for _, found := range told.suspicions {
		if found.Kind == history.TakenAway {
			suspected = append(suspected, found.Path)
			require.Equal(t, recognize.Warn, found.Level, found.Text)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(broken)), suspected)
	for _, line := range []string{
		"mutex /locks/stuck: ann holds, granted, broken by another", "election /leader: ann leads, granted, broken by another",
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
