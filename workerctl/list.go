package workerctl

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// List lists the jobs below the root, whatever their state, in the order of their
// names. o may be nil. What is no job of this package is left out. With what the
// client may not read the list is that of the others, and the error, which wraps
// session.ErrNoAuth, says what is missing.
func List(ctx context.Context, client *session.Client, o *Options) ([]Info, error) {
	const op = "list the jobs of"
	opts, err := begin(ctx, client, "any", o)
	if err != nil {
		return nil, failure(ctx, op, opts.Root, err)
	}
	jobs, hidden, err := jobsOf(ctx, client, opts)
	if err != nil {
		return nil, failure(ctx, op, opts.Root, err)
	}
	out := make([]Info, 0, len(jobs))
	for _, j := range jobs {
		in, err := j.Info(ctx)
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
		return out, failure(ctx, op, opts.Root, errors.Join(hidden...))
	}
	return out, nil
}

// jobsOf are the jobs below the root; hidden says which may not be read.
func jobsOf(ctx context.Context, client *session.Client, opts Options) (jobs []*Job, hidden []error, err error) {
	err = persist(ctx, client, func(s *session.Session) error {
		jobs, hidden = nil, nil
		r := newReading(ctx)
		synced, list := s.StartSync(opts.Root), s.StartChildren(opts.Root, false)
		r.Synced(synced)
		seen, _ := r.IfThere(list)
		names := slices.DeleteFunc(seen.Children, func(name string) bool { return !isJob(name) })
		for chunk := range slices.Chunk(names, together) {
			var reads []*session.Future[session.Seen]
			for _, name := range chunk {
				reads = append(reads, s.StartGet(opts.Root+"/"+name, false))
			}
			for i, read := range reads {
				one, there := r.IfThere(read)
				if errors.Is(r.Err, session.ErrNoAuth) {
					hidden, r.Err = append(hidden, r.Err), nil
				}
				if record, err := jobOf(chunk[i], one.Data); there && err == nil {
					jobs = append(jobs, newJob(client, opts, record))
				}
			}
		}
		return r.Err
	})
	return jobs, hidden, err
}
