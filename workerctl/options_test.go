package workerctl_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestOptionsComeFromTheEnvironment_T27(t *testing.T) {
	o, err := workerctl.OptionsFromEnv(env(nil))
	require.NoError(t, err)
	require.Equal(t, &workerctl.Options{}, o, "the defaults")
	o, err = workerctl.OptionsFromEnv(env(map[string]string{
		"ZKR_JOB_ROOT": "/jobs/a", "ZKR_JOB_JOIN_WAIT": "3m", "ZKR_JOB_BARRIER_WAIT": "-1s", "ZKR_JOB_ABANDONED": "1h",
	}))
	require.NoError(t, err)
	require.Equal(t, &workerctl.Options{Root: "/jobs/a", JoinWait: 3 * time.Minute, BarrierWait: -time.Second, Abandoned: time.Hour}, o)
	for name, value := range map[string]string{
		"ZKR_JOB_ROOT": "jobs", "ZKR_JOB_JOIN_WAIT": "100", "ZKR_JOB_BARRIER_WAIT": "0s", "ZKR_JOB_ABANDONED": "-1s",
	} {
		_, err := workerctl.OptionsFromEnv(env(map[string]string{name: value}))
		require.ErrorIs(t, err, workerctl.ErrInvalidArgument)
		require.ErrorContains(t, err, name)
	}
}

func TestDefaultsAreThoseOfTwister2_T27(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 2)
		require.Equal(w, "/twister2/words", j.Path())
		k := w.crew(1)[0]
		for _, wait := range []func() error{
			func() error { return j.WaitAll(w.Ctx) },
			func() error { _, err := k.Barrier(w.Ctx, "b"); return err },
		} {
			began := time.Now()
			require.ErrorIs(w, wait(), context.DeadlineExceeded)
			require.InDelta(w, 100, time.Since(began).Seconds(), 2)
		}
	})
}

func TestWrongArgumentsAreNamedAndNothingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 2)
		k := w.join(j, nth(0))
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		w.Settle()
		w.ResetStats()
		for field, call := range map[string]func() error{
			"Workers": func() error {
				_, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "a"}, nil)
				return err
			},
			"Name": func() error { _, err := workerctl.Attach(w.Ctx, c, "", nil); return err },
			"client": func() error {
				_, err := workerctl.Submit(w.Ctx, nil, workerctl.Spec{Name: "a", Workers: 1}, nil)
				return err
			},
			"Root": func() error {
				_, err := workerctl.List(w.Ctx, c, &workerctl.Options{Root: "/"})
				return err
			},
			"Abandoned": func() error { _, err := workerctl.Attach(w.Ctx, c, "a", &workerctl.Options{Abandoned: -1}); return err },
			"Metadata": func() error {
				_, err := workerctl.Submit(w.Ctx, c, workerctl.Spec{Name: "a", Workers: 1, Metadata: map[string]string{"\xff": ""}}, nil)
				return err
			},
			"Identity.Rack": func() error { _, err := j.Join(w.Ctx, workerctl.Identity{Name: "a", Rack: "\xff"}); return err },
			"Identity.Addresses": func() error {
				_, err := j.Join(w.Ctx, workerctl.Identity{Name: "a", Addresses: []string{""}})
				return err
			},
			"n is 0":        func() error { return j.Scale(w.Ctx, 0) },
			"kv is":         func() error { return k.Update(w.Ctx, map[string]string{"\xe2\x82": "\xac"}) }, // together a euro sign
			"kv":            func() error { return k.Update(w.Ctx, map[string]string{"a": "\xff"}) },
			"name is empty": func() error { return k.Phase(w.Ctx, "") },
		} {
			err := call()
			require.ErrorIs(w, err, workerctl.ErrInvalidArgument, field)
			require.ErrorContains(w, err, field)
		}
		for what, call := range map[string]func() error{
			"submit": func() error {
				_, err := workerctl.Submit(over, c, workerctl.Spec{Name: "a", Workers: 1}, nil)
				return err
			},
			"attach":  func() error { _, err := workerctl.Attach(over, c, "words", nil); return err },
			"list":    func() error { _, err := workerctl.List(over, c, nil); return err },
			"join":    func() error { _, err := j.Join(over, nth(1)); return err },
			"info":    func() error { _, err := j.Info(over); return err },
			"members": func() error { _, err := j.Members(over); return err },
			"wait":    func() error { return j.WaitAll(over) },
			"scale":   func() error { return j.Scale(over, 3) },
			"kill":    func() error { return j.Kill(over) },
			"update":  func() error { return k.Update(over, nil) },
			"barrier": func() error { _, err := k.Barrier(over, "b"); return err },
			"phase":   func() error { return k.Phase(over, "p") },
			"leave":   func() error { return k.Leave(over) },
			"sweep":   func() error { _, err := workerctl.NewJanitor(c, nil).Sweep(over); return err },
			"run":     func() error { return workerctl.NewJanitor(c, nil).Run(over) },
		} {
			require.ErrorIs(w, call(), context.Canceled, what)
		}
		counts := w.Server.Stats().BySession[w.ID(c)]
		delete(counts, "multi") // heartbeats
		delete(counts, "ping")
		require.Empty(w, counts)
		require.NoError(w, k.Context().Err())
	})
}

func TestEverythingEndsWithTheClient(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		j := w.submit(c, 2)
		k := w.join(j, nth(0))
		barrier, all := w.barrier(k, "b"), w.waitAll(j)
		janitor := w.beside(func(ctx context.Context) (int64, error) { return 0, workerctl.NewJanitor(c, nil).Run(ctx) })
		require.NoError(w, c.Close(w.Ctx))
		for _, out := range []<-chan result{barrier, all, janitor} {
			require.ErrorIs(w, (<-out).err, session.ErrClosed)
		}
		require.ErrorIs(w, context.Cause(k.Context()), session.ErrLost)
		_, err := j.Join(w.Ctx, nth(1))
		require.ErrorIs(w, err, session.ErrClosed)
	})
}
