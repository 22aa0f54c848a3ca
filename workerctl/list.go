package workerctl

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// List lists the jobs below the root, in any state, in the order of their
// names. o may be nil. Znodes that are not jobs of this package are left out.
// If the client may not read some jobs, the list has the other jobs; the error
// wraps session.ErrNoAuth and names the missing jobs.
func List(ctx context.Context, client *session.Client, o *Options) ([]Info, error) {
	const op = "list the jobs of"
	opts, err := checkArguments(ctx, client, "any", o)
	if err != nil {
		return nil, wrapError(ctx, op, opts.Root, err)
	}
	jobs, hidden, err := jobsOf(ctx, client, opts)
	if err != nil {
		return nil, wrapError(ctx, op, opts.Root, err)
	}
	out := make([]Info, 0, len(jobs))
	for _, j := range jobs {
		in, err := j.currentInfo(ctx)
		switch {
		case errors.Is(err, ErrOver), errors.Is(err, ErrRecord):
		case errors.Is(err, session.ErrNoAuth):
			hidden = append(hidden, err)
		case err != nil:
			return nil, err
		default:
			out = append(out, in)
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	if len(hidden) > 0 {
		return out, wrapError(ctx, op, opts.Root, errors.Join(hidden...))
	}
	return out, nil
}

// jobsOf are the jobs below the root; hidden are the errors of jobs that may not be read.
func jobsOf(ctx context.Context, client *session.Client, opts Options) (jobs []*Job, hidden []error, err error) {
	err = readFresh(ctx, client, func(s *session.Session) error {
		jobs, hidden = nil, nil
		r := newReading(ctx, s)
		names := slices.DeleteFunc(r.List(opts.Root), func(name string) bool { return !jobformat.IsJob(name) })
		for chunk := range slices.Chunk(names, together) {
			seen, unreadable := r.GetReadable(pathsBelow(opts.Root, chunk)...)
			hidden = append(hidden, unreadable...)
			for i, one := range seen {
				if record, err := jobOf(chunk[i], one.Data); one.Exists && err == nil {
					jobs = append(jobs, newJob(client, opts, record))
				}
			}
		}
		return r.Err
	})
	return jobs, hidden, err
}
