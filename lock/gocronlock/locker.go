package gocronlock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// ErrNoRun: the function of [Locker.Task] was called outside of a run that holds the lock.
var ErrNoRun = errors.New("no run of this job holds its lock")

// Options of a [Locker]; nil and the zero value mean all defaults.
type Options struct {
	// MinHold is how long a lock is held at least, if the run is shorter: the end of the
	// run waits for it, or for the end of the job's context. Choose more than the clocks of
	// the processes can differ, and less than the interval of the jobs. Default: none.
	MinHold time.Duration
	// Lock has the options of the locks; nil means the defaults.
	Lock *lock.Options
}

// Locker is a gocron.Locker, whose locks are below a path.
type Locker struct {
	client *session.Client
	path   string
	opts   Options
	err    error // of an invalid argument

	// mu guards runs: the lock of each run in progress in this process, by the job's name.
	mu   sync.Mutex
	runs map[string]*lock.Held
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker makes a locker whose locks are below path, such as "/cron". NewLocker sends no
// request; the first call of a method reports an invalid argument. o may be nil.
func NewLocker(client *session.Client, path string, o *Options) *Locker {
	l := &Locker{client: client, path: path, runs: map[string]*lock.Held{}}
	if o != nil {
		l.opts = *o
	}
	switch err := session.ValidatePath(path); {
	case err != nil:
		l.err = fmt.Errorf("%w: path: %w", session.ErrInvalidArgument, err)
	case client == nil:
		l.err = fmt.Errorf("%w: the client is nil", session.ErrInvalidArgument)
	case l.opts.MinHold < 0:
		l.err = fmt.Errorf("%w: MinHold is %v; it must be 0 or more", session.ErrInvalidArgument, l.opts.MinHold)
	}
	return l
}

// Path returns the path of a job's lock.
func (l *Locker) Path(job string) string {
	if l == nil {
		return ""
	}
	name := url.PathEscape(job)
	if strings.Trim(name, ".") == "" { // "." and ".." are no names of znodes
		name = strings.ReplaceAll(name, ".", "%2E")
	}
	return strings.TrimSuffix(l.path, "/") + "/" + name
}

// check is the first check of every method that can fail.
func (l *Locker) check(job string) error {
	switch {
	case l == nil || l.err == nil && l.client == nil:
		return fmt.Errorf("%w: it has no client: make it with gocronlock.NewLocker", session.ErrInvalidArgument)
	case l.err != nil:
		return l.err
	case job == "":
		return fmt.Errorf("%w: the job has no name", session.ErrInvalidArgument)
	}
	return nil
}

// Lock takes the lock of a job if it is free, for gocron: the error wraps lock.ErrBusy if
// another run of the job, in any process, is in progress. ctx bounds the call.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	if err := l.check(job); err != nil {
		return nil, fmt.Errorf("gocronlock: lock %q: %w", job, err)
	}
	held, err := lock.New(l.client, l.Path(job), l.opts.Lock).TryLock(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[job] = held
	return &heldLock{l: l, job: job, held: held, since: time.Now()}, nil
}

// heldLock is the lock of a run.
type heldLock struct {
	l     *Locker
	job   string
	held  *lock.Held
	since time.Time
}

// Unlock ends the run. gocron passes the context of the job, which has ended when the
// scheduler is shut down: the release does not depend on it.
func (h *heldLock) Unlock(ctx context.Context) error {
	h.l.mu.Lock()
	if h.l.runs[h.job] == h.held {
		delete(h.l.runs, h.job)
	}
	h.l.mu.Unlock()
	if rest := h.l.opts.MinHold - time.Since(h.since); rest > 0 {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-h.held.Context().Done():
		}
	}
	return h.held.Unlock(context.WithoutCancel(ctx))
}

// Task makes the task of a job whose name is set with gocron.WithName(job), on a scheduler
// or a job with this locker. fn's context is the job's, and ends when the lock is lost; held
// is the lock, for its token and guard. If the lock is lost, the error of the task wraps
// session.ErrLost, besides the error of fn.
func (l *Locker) Task(job string, fn func(ctx context.Context, held *lock.Held) error) gocron.Task {
	return gocron.NewTask(func(ctx context.Context) error {
		if err := l.check(job); err != nil {
			return fmt.Errorf("gocronlock: run %q: %w", job, err)
		}
		held := l.run(job)
		if held == nil {
			return fmt.Errorf("gocronlock: run %q: %w: set gocron.WithName(%q), and this locker", job, ErrNoRun, job)
		}
		both, cancel := session.WithHolds(ctx, held.Context())
		defer cancel(nil)
		err := fn(both, held)
		if session.ContextErr(held.Context()) != nil {
			err = errors.Join(err, fmt.Errorf("gocronlock: run %q: %w", job, context.Cause(held.Context())))
		}
		return err
	})
}

// run is the lock of the run in progress of a job; nil if there is no run.
func (l *Locker) run(job string) *lock.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[job]
}
