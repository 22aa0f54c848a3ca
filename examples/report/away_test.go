package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// shape is a program as the README and the package documentation show it, from a
// connected client to the end. work is the program's work under the hold.
type shape func(ctx context.Context, client *session.Client, work func(context.Context) error) error

// shapes are all of them, by the heading under which they stand.
func shapes() map[string]shape {
	return map[string]shape{
		"lock: Lock and Unlock": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
			if err != nil {
				return err
			}
			defer held.Unlock(context.WithoutCancel(ctx))
			return work(held.Context())
		},
		"lock: Do": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			return lock.New(client, "/locks/report", nil).Do(ctx, func(ctx context.Context, _ *lock.Held) error { return work(ctx) })
		},
		"lock: semaphore": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			permits, err := lock.NewSemaphore(client, "/locks/permits", 2, nil).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			defer permits.Release(context.WithoutCancel(ctx))
			return work(permits.Context())
		},
		"lock: several as one": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			held, err := lock.All(lock.New(client, "/locks/a", nil), lock.New(client, "/locks/b", nil)).Lock(ctx)
			if err != nil {
				return err
			}
			defer held.Unlock(context.WithoutCancel(ctx))
			return work(held.Context())
		},
		"rwlock: RLock and Unlock": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			held, err := rwlock.New(client, "/locks/catalog", nil).RLock(ctx)
			if err != nil {
				return err
			}
			defer held.Unlock(context.WithoutCancel(ctx))
			return work(held.Context())
		},
		"election: Run": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			return election.New(client, "/election/scheduler", nil).Run(ctx, func(ctx context.Context, _ *election.Leadership) error { return work(ctx) })
		},
		"election: Campaign and Resign": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			l, err := election.New(client, "/election/scheduler", nil).Campaign(ctx)
			if err != nil {
				return err
			}
			defer l.Resign(context.WithoutCancel(ctx))
			return work(l.Context())
		},
		"barrier: Enter and Leave": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			seat, err := barrier.NewDouble(client, "/jobs/7/work", 1, nil).Enter(ctx)
			if err != nil {
				return err
			}
			return errors.Join(work(seat.Context()), seat.Leave(ctx))
		},
		"barrier: Await": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			_, err := barrier.New(client, "/jobs/7/phase", 3, nil).Await(ctx)
			return err
		},
		"discovery: Register and Unregister": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			reg, err := discovery.NewRegistry(client, "/services", nil).Register(ctx, discovery.Instance{
				Service: "web", ID: "web-1", Address: "10.0.0.7", Port: 8080,
			})
			if err != nil {
				return err
			}
			defer reg.Unregister(context.WithoutCancel(ctx))
			return work(reg.Context())
		},
		"counter: Add": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			hits := counter.New(client, "/counters/hits", nil)
			for ctx.Err() == nil {
				if _, err := hits.Add(ctx, 3); err != nil {
					return err
				}
				if err := work(ctx); err != nil {
					return err
				}
			}
			return ctx.Err()
		},
		"cache: Run and Events": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			workers := cache.NewChildren(client, "/", cache.Bytes, nil)
			// Not waited for: the goroutine ends with ctx.
			go workers.Run(ctx)
			if err := workers.WaitSynced(ctx); err != nil {
				return err
			}
			for _, err := range workers.Events(ctx) {
				if err != nil {
					return err
				}
			}
			return ctx.Err()
		},
		"workerctl: Join and Leave": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 1}, nil)
			if err != nil {
				return err
			}
			w, err := job.Join(ctx, workerctl.Identity{Name: "pod"})
			if err != nil {
				return err
			}
			if err := job.WaitAll(ctx); err != nil {
				return err
			}
			return errors.Join(work(w.Context()), w.Leave(ctx))
		},
		"workerctl: WaitAll": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 2}, nil)
			if err != nil {
				return err
			}
			if _, err := job.Join(ctx, workerctl.Identity{Name: "pod"}); err != nil {
				return err
			}
			return job.WaitAll(ctx)
		},
		"rebalanser: Run": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			admin := rebalanser.Open(client, "/rebalanser/orders", nil)
			if err := admin.Create(ctx); err != nil {
				return err
			}
			if _, err := admin.AddResources(ctx, "orders-1", "orders-2"); err != nil {
				return err
			}
			return rebalanser.New(client, "/rebalanser/orders", rebalanser.Each(
				func(ctx context.Context, _ *rebalanser.Resource) error { return work(ctx) }), nil).Run(ctx)
		},
		"rebalanser: Run without resources": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			return rebalanser.New(client, "/rebalanser/orders", rebalanser.Each(
				func(ctx context.Context, _ *rebalanser.Resource) error { return work(ctx) }), nil).Run(ctx)
		},
		"dispatch: idle worker": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			return dispatch.NewWorker(client, "/queues/mail", func(context.Context, *dispatch.Attempt) ([]byte, error) { return nil, nil }, nil).Run(ctx)
		},
		"dispatch: Submit, Collect, worker and master": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			all := make(chan error, 3)
			// Waited for below; ends with ctx.
			go func() {
				all <- dispatch.NewWorker(client, "/queues/mail", func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) { return nil, work(ctx) }, nil).Run(ctx)
			}()
			// Waited for below; ends with ctx.
			go func() { all <- dispatch.NewMaster(client, "/queues/mail", nil).Run(ctx) }()
			// Waited for below; ends with ctx.
			go func() {
				queue := dispatch.New(client, "/queues/mail", nil)
				id, err := queue.Submit(ctx, dispatch.Task{Payload: []byte("letter")})
				if err == nil {
					_, err = queue.Collect(ctx, id)
				}
				all <- err
			}()
			return errors.Join(<-all, <-all, <-all)
		},
	}
}

// outages are ways in which all servers go, and do not come back.
func outages() map[string]func(*zktest.Server) error {
	return map[string]func(*zktest.Server) error{
		"stopped": func(s *zktest.Server) error { return s.Stop(1) },
		"frozen":  func(s *zktest.Server) error { return s.Freeze(1) },
		"out of reach": func(s *zktest.Server) error {
			s.BlackHole(zktest.Link{}, zktest.Both)
			return nil
		},
	}
}

// SIGTERM while ZooKeeper is away for good: with any kind of hold, the program ends
// within a session timeout and the time in which go-zookeeper closes a connection.
func TestDocumentedCallsEndWhenZooKeeperIsAwayForGood(t *testing.T) {
	all := shapes()
	maps.Copy(all, exampleShapes())
	for name, run := range all {
		for fault, begin := range outages() {
			for _, after := range []time.Duration{0, 2 * time.Second, 8 * time.Second, time.Minute} {
				t.Run(fmt.Sprintf("%s/%s for %v", name, fault, after), func(t *testing.T) {
					endsWithoutServers(t, run, begin, after, true)
				})
			}
		}
	}
}

// The same without a signal: the work is done, and the hold is given back.
func TestReleasesEndWithoutASignalWhenZooKeeperIsAwayForGood(t *testing.T) {
	for _, name := range []string{
		"lock: Lock and Unlock", "lock: Do", "lock: semaphore", "lock: several as one", "rwlock: RLock and Unlock",
		"election: Run", "election: Campaign and Resign", "discovery: Register and Unregister",
	} {
		for fault, begin := range outages() {
			for _, after := range []time.Duration{0, 2 * time.Second, 5 * time.Second} {
				t.Run(fmt.Sprintf("%s/%s for %v", name, fault, after), func(t *testing.T) {
					endsWithoutServers(t, shapes()[name], begin, after, false)
				})
			}
		}
	}
}

// endsWithoutServers runs a shape until it does its work, lets the servers go, ends the
// work after that time, by its context or by itself, and bounds how long the shape takes
// to end from then on.
func endsWithoutServers(t *testing.T, run shape, begin func(*zktest.Server) error, after time.Duration, signaled bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.Start(&zktest.Options{InMemory: true})
		require.NoError(t, err)
		defer server.Close()
		ctx, term := context.WithCancel(t.Context())
		defer term()
		client, err := session.Connect(ctx, server.Addr(), &session.Options{Dialer: server.Dial})
		require.NoError(t, err)
		done := make(chan struct{})
		work := func(hold context.Context) error {
			select {
			case <-hold.Done():
				return context.Cause(hold)
			case <-ctx.Done():
				return ctx.Err()
			case <-done:
				return nil
			}
		}
		ended := make(chan error, 1)
		// Waited for below; ends with the shape.
		go func() {
			err := run(ctx, client, work)
			ended <- errors.Join(err, client.Close(context.WithoutCancel(ctx)))
		}()
		time.Sleep(3 * time.Second) // in the middle of it
		require.Empty(t, ended)
		require.NoError(t, begin(server))
		time.Sleep(after)
		if signaled {
			term()
		} else {
			close(done)
		}
		began := time.Now()
		limit := time.NewTimer(24 * time.Hour)
		defer limit.Stop()
		select {
		case err := <-ended:
			require.LessOrEqual(t, time.Since(began), session.DefaultTimeout+3*time.Second, "%v", err)
		case <-limit.C:
			t.Errorf("it does not end")
			require.NoError(t, client.Close(canceled())) // lets the bubble end, if anything does
		}
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
