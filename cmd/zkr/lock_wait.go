package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// grant is a lock or a permit that is held.
type grant struct {
	ctx     context.Context // ends with the hold
	token   int64
	path    string // of the znode
	session *session.Session
	release func(context.Context) error
}

// runJob is all of "zkr lock PATH -- CMD".
func (a *app) runJob(ctx context.Context, j *job) error {
	signals := listen()
	defer signal.Stop(signals)
	waiting, stop := untilSignal(ctx, signals)
	client, p, g, err := a.acquire(waiting, j)
	if interrupted := stop(); interrupted != nil {
		// Whatever came of it, nothing of it is left: closing waits for the
		// deletion of a znode, and the session takes what remains with it.
		if client != nil {
			err = hangUp(ctx, client)
		}
		return a.interrupted(j, interrupted, err)
	}
	if err != nil {
		if client != nil {
			_ = hangUp(ctx, client)
		}
		return err
	}
	err = a.runCommand(ctx, j, p, g, signals)
	if bad := hangUp(ctx, client); bad != nil && err == nil {
		note(a.stderr, "%s may stay taken for up to %v: %v", j.what(), p.timeout, bad)
	}
	return err
}

func (a *app) interrupted(j *job, cause, closing error) error {
	var by endedBy
	if !errors.As(cause, &by) {
		return cause
	}
	if closing != nil {
		note(a.stderr, "%v", closing)
	}
	return signaled(by.sig, "gave up waiting for %s: %w", j.what(), cause)
}

// acquire connects and gets the lock. The client is there to be closed also
// with some errors.
func (a *app) acquire(ctx context.Context, j *job) (*session.Client, plan, *grant, error) {
	if j.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.timeout)
		defer cancel()
	}
	client, p, err := a.connectFor(ctx, j, a.stderr)
	if err != nil {
		if j.timeout > 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = &failure{code: exitUnavailable, err: fmt.Errorf("no connection within --timeout %v: %w", j.timeout, err)}
		}
		return nil, p, nil, err
	}
	g, err := a.take(ctx, client, j)
	switch {
	case err == nil:
		return client, p, g, nil
	case errors.Is(err, lock.ErrBusy):
		return client, p, nil, &failure{code: exitBusy, err: fmt.Errorf("%s is taken: %w", j.what(), err), hint: j.look() + " says by whom"}
	case j.timeout > 0 && errors.Is(err, context.DeadlineExceeded) && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return client, p, nil, &failure{code: exitBusy, err: fmt.Errorf("did not get %s within %v", j.what(), j.timeout), hint: j.look() + " says who has it"}
	}
	return client, p, nil, err
}

// take gets the lock or a permit.
func (a *app) take(ctx context.Context, client *session.Client, j *job) (*grant, error) {
	if j.try && j.timeout == 0 {
		// It does not wait for others, but for the servers it must.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.flags.connectTimeout+j.opts.LockDelay)
		defer cancel()
	}
	if j.permits > 0 {
		s := lock.NewSemaphore(client, j.path, j.permits, &j.opts)
		acquire := s.Acquire
		if j.try {
			acquire = s.TryAcquire
		}
		p, err := acquire(ctx, 1)
		if err != nil {
			return nil, err
		}
		return &grant{p.Context(), p.Token(), p.Path(), p.Session(), p.Release}, nil
	}
	m := lock.New(client, j.path, &j.opts)
	get := m.Lock
	if j.try {
		get = m.TryLock
	}
	h, err := get(ctx)
	if err != nil {
		return nil, err
	}
	return &grant{h.Context(), h.Token(), h.Path(), h.Session(), h.Unlock}, nil
}

// environment is what the command sees of the lock, beside zkr's own
// environment.
func (g *grant) environment() []string {
	return append(os.Environ(),
		"ZKR_LOCK_PATH="+g.path,
		fmt.Sprintf("ZKR_LOCK_TOKEN=%d", g.token),
		fmt.Sprintf("ZKR_LOCK_SESSION=%#x", g.session.ID()),
	)
}

// timer is a channel that fires after d, and how to let go of it.
func timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}
