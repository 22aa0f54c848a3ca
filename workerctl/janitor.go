package workerctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// longestPause is how long a janitor rests at most.
const longestPause = time.Minute

// Janitor removes jobs that are over and were not removed completely, and jobs
// none of whose workers has lived for Options.Abandoned. Any number of them can
// run; one works.
type Janitor struct {
	client *session.Client
	opts   Options
	err    error // what is wrong with the arguments
}

// NewJanitor makes a janitor for all jobs below Options.Root. It does nothing yet;
// a wrong argument is reported by the first call of a method. o may be nil.
func NewJanitor(client *session.Client, o *Options) *Janitor {
	n := &Janitor{client: client}
	n.opts, n.err = o.withDefaults()
	if n.err == nil && client == nil {
		n.err = fmt.Errorf("%w: the client is nil", ErrArgument)
	}
	return n
}

// Run sweeps again and again, at least every minute and four times within
// Options.Abandoned, while this janitor is the one that is elected, until ctx ends
// or the client is closed. What keeps it from removing a job, other than these, is
// tried again the next time; [Janitor.Sweep] says what it was.
func (n *Janitor) Run(ctx context.Context) error {
	const op = "run janitor"
	if err := n.begin(ctx); err != nil {
		return failure(ctx, op, n.opts.Root, err)
	}
	el := election.New(n.client, n.opts.Root+"/"+janitorDir, &election.Options{ACL: n.opts.ACL})
	err := el.Run(ctx, func(ctx context.Context, _ *election.Leadership) error {
		pause := time.NewTicker(max(min(n.opts.Abandoned/4, longestPause), time.Millisecond))
		defer pause.Stop()
		for {
			if _, err := n.sweep(ctx); errors.Is(err, session.ErrClosed) {
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
		return failure(ctx, op, n.opts.Root, err)
	}
	return nil
}

// Sweep looks at every job once, elected or not, and returns the names of those
// that it has removed. A job that keeps it from doing so does not keep it from the
// others; the errors are joined. When somebody looks at a job without live workers
// for the first time, its time begins to count.
func (n *Janitor) Sweep(ctx context.Context) (removed []string, err error) {
	const op = "sweep"
	if err := n.begin(ctx); err != nil {
		return nil, failure(ctx, op, n.opts.Root, err)
	}
	removed, err = n.sweep(ctx)
	if err != nil {
		return removed, failure(ctx, op, n.opts.Root, err)
	}
	return removed, nil
}

func (n *Janitor) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return n.err
}

func (n *Janitor) sweep(ctx context.Context) (removed []string, err error) {
	jobs, failures, err := jobsOf(ctx, n.client, n.opts)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		over, err := j.expire(ctx)
		if over && err == nil {
			if err = j.remove(ctx); err == nil {
				removed = append(removed, j.Name())
			}
		}
		if errors.Is(err, ErrOver) {
			err = j.remove(ctx) // by somebody else, or a part of it by hand
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", j.Path(), err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return removed, errors.Join(failures...)
}
