package workerctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// longestPause is how long a janitor rests at most.
const longestPause = time.Minute

// Janitor removes jobs that are over and were not removed completely, and jobs
// without a live worker for Options.Abandoned. Any number of janitors can run;
// only the elected janitor works.
type Janitor struct {
	client *session.Client
	opts   Options
	err    error // an invalid argument of NewJanitor
}

// NewJanitor makes a janitor for all jobs below Options.Root. NewJanitor sends
// nothing; the first call of a method reports an invalid argument. o may be nil.
func NewJanitor(client *session.Client, o *Options) *Janitor {
	n := &Janitor{client: client}
	n.opts, n.err = o.withDefaults()
	if n.err == nil && client == nil {
		n.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return n
}

// Run sweeps repeatedly while this janitor is elected, at least every minute
// and four times within Options.Abandoned, until ctx ends or the client is
// closed. Run returns nil when ctx has ended and the leadership, if any, was
// given back, confirmed by a server; otherwise the error wraps the cause. A ctx
// that had ended before the call is an error that wraps the context's error. If
// anything else keeps Run from removing a job, Run retries with the next sweep;
// [Janitor.Sweep] returns the reason.
func (n *Janitor) Run(ctx context.Context) error {
	n = receiver.OrZero(n)
	const op = "run janitor"
	if err := n.checkCall(ctx); err != nil {
		return wrapError(ctx, op, n.opts.Root, err)
	}
	el := election.New(n.client, n.opts.Root+"/"+jobformat.DirJanitor, &election.Options{ACL: n.opts.ACL})
	err := el.Run(ctx, func(ctx context.Context, _ *election.Leadership) error {
		pause := time.NewTicker(max(min(n.opts.Abandoned/4, longestPause), time.Millisecond))
		defer pause.Stop()
		for {
			if _, err := n.sweepJobs(ctx); errors.Is(err, session.ErrClosed) {
				return err
			}
			select {
			case <-pause.C:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
	if err != nil {
		return wrapError(ctx, op, n.opts.Root, err)
	}
	return nil
}

// Sweep checks every job once, elected or not, and returns the names of the
// removed jobs. A job that cannot be removed does not keep Sweep from the other
// jobs; the errors are joined. The first sweep that finds a job without live
// workers starts the time of Options.Abandoned.
func (n *Janitor) Sweep(ctx context.Context) (removed []string, err error) {
	n = receiver.OrZero(n)
	const op = "sweep"
	if err := n.checkCall(ctx); err != nil {
		return nil, wrapError(ctx, op, n.opts.Root, err)
	}
	removed, err = n.sweepJobs(ctx)
	if err != nil {
		return removed, wrapError(ctx, op, n.opts.Root, err)
	}
	return removed, nil
}

func (n *Janitor) checkCall(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if n.err == nil && n.client == nil {
		return fmt.Errorf("%w: a nil or zero Janitor has no client: make it with NewJanitor", ErrInvalidArgument)
	}
	return n.err
}

func (n *Janitor) sweepJobs(ctx context.Context) (removed []string, err error) {
	jobs, failures, err := jobsOf(ctx, n.client, n.opts)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		over, err := j.expireIdle(ctx)
		if over && err == nil {
			if err = j.removeJob(ctx); err == nil {
				removed = append(removed, j.Name())
			}
		}
		if errors.Is(err, ErrOver) {
			err = j.removeJob(ctx) // by another client, or partly by hand
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", j.Path(), err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if err := pruneEnded(ctx, n.client, n.opts); err != nil {
		failures = append(failures, err)
	}
	return removed, errors.Join(failures...)
}
