package main

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// exampleShapes are the programs of the packages' runnable examples that the
// documentation's text does not have.
func exampleShapes() map[string]shape {
	return map[string]shape{
		"lock: Do with permits": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			return lock.NewSemaphore(client, "/locks/permits", 3, nil).Do(ctx, 2, func(ctx context.Context, _ *lock.Permits) error { return work(ctx) })
		},
		"locktable: TryLock and Unlock": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			owner, err := locktable.New(client, "/locks/shards", nil).Join(ctx)
			if err != nil {
				return err
			}
			defer owner.Release(context.WithoutCancel(ctx))
			held, err := owner.TryLock(ctx, "shard-1", "shard-2")
			if err != nil {
				return err
			}
			return errors.Join(work(held[0].Context()), owner.Unlock(context.WithoutCancel(ctx), held...))
		},
		"locktable: Acquirer": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			owner, err := locktable.New(client, "/locks/shards", nil).Join(ctx)
			if err != nil {
				return err
			}
			defer owner.Release(context.WithoutCancel(ctx))
			got := make(chan []*locktable.Held, 1)
			acquirer := owner.Acquirer(func(held []*locktable.Held) { got <- held }, func([]string) {})
			if err := acquirer.Want("shard-1"); err != nil {
				return err
			}
			running, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			// Waited for below; ends with running.
			go func() { ended <- acquirer.Run(running) }()
			held := <-got
			err = work(held[0].Context())
			stop()
			return errors.Join(err, <-ended)
		},
		"rwlock: Do and Downgrade": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			return rwlock.New(client, "/locks/catalog", nil).Do(ctx, func(ctx context.Context, held *rwlock.Held) error {
				reading, err := held.Downgrade(ctx)
				if err != nil {
					return err
				}
				return work(reading.Context())
			})
		},
		"barrier: Gate": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			gate := barrier.NewGate(client, "/jobs/7/gate", nil)
			if err := gate.Set(ctx); err != nil {
				return err
			}
			return gate.Wait(ctx)
		},
		"counter: Sequence": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			ids := counter.NewSequence(client, "/counters/ids", nil)
			for {
				if _, err := ids.Next(ctx); err != nil {
					return err
				}
				if err := work(ctx); err != nil {
					return err
				}
			}
		},
		"discovery: Join and Leave": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			member, err := discovery.NewGroup(client, "/members", nil).Join(ctx, "web-1", nil)
			if err != nil {
				return err
			}
			defer member.Leave(context.WithoutCancel(ctx))
			return work(member.Context())
		},
		"discovery: Watch": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			for _, err := range discovery.NewRegistry(client, "/services", nil).Watch(ctx, "web") {
				if err != nil {
					return err
				}
			}
			return ctx.Err()
		},
		"discovery: provider": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			return provider.New(discovery.NewRegistry(client, "/services", nil), "web", provider.RoundRobin(), nil).Run(ctx)
		},
		"stm: Apply": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			txs := stm.New(client, "/bank", nil)
			for {
				if err := txs.Apply(ctx, func(tx *stm.Tx) error { return tx.Create("/bank/"+session.NewID(), nil, session.Persistent, nil) }); err != nil {
					return err
				}
				if err := work(ctx); err != nil {
					return err
				}
			}
		},
		"session: Client.Retry": func(ctx context.Context, client *session.Client, work func(context.Context) error) error {
			for {
				if err := client.Retry(ctx, func(s *session.Session) error {
					_, _, err := s.Get(ctx, "/")
					return err
				}); err != nil {
					return err
				}
				if err := work(ctx); err != nil {
					return err
				}
			}
		},
		"workerctl: Barrier": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			w, err := join(ctx, client)
			if err != nil {
				return err
			}
			_, err = w.Barrier(ctx, "step")
			return errors.Join(err, w.Leave(ctx))
		},
		"workerctl: Roster": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			w, err := join(ctx, client)
			if err != nil {
				return err
			}
			return w.Job().Roster().Run(ctx)
		},
		"workerctl: Janitor": func(ctx context.Context, client *session.Client, _ func(context.Context) error) error {
			return workerctl.NewJanitor(client, nil).Run(ctx)
		},
	}
}

// join joins a job of two workers, the other of which never comes.
func join(ctx context.Context, client *session.Client) (*workerctl.Worker, error) {
	job, err := workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 2}, nil)
	if err != nil {
		return nil, err
	}
	return job.Join(ctx, workerctl.Identity{Name: "pod"})
}
