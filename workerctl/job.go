package workerctl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Spec describes a job to submit.
type Spec struct {
	// Name of the job: any text, unique below the root.
	Name string
	// Workers is the number of workers, at least 1.
	Workers int
	// Metadata is shown to clients that inspect the job; may be nil.
	Metadata map[string]string
	// ReuseIDs is for jobs whose workers come and go: the id of a worker that has
	// left goes to the next worker that joins, the lowest id first. Otherwise an
	// id belongs to its identity until the job ends, and a worker that has left
	// has finished.
	ReuseIDs bool
}

// Job is one submission of a job, until its end. A later job of the same name is
// another Job.
type Job struct {
	client *session.Client
	opts   Options
	record job
	run    run
	// line is the queue of colliding joins. The queue keeps thousands of joins
	// from concurrent attempts. Different ids do not depend on the queue, but on
	// transactions.
	line *lock.Mutex
	txs  *stm.Transactor
}

// Info is the state of a job as of one moment; the state may have changed since.
type Info struct {
	// ID is the job's unique UUID.
	ID   string
	Name string
	// State: see [State].
	State State
	// Workers is how many the job has; Joined how many ids were given out;
	// Left how many of these have left, Failed how many of these by Worker.Fail;
	// Running how many live.
	Workers, Joined, Left, Failed, Running int
	ReuseIDs                               bool
	Metadata                               map[string]string
	// Created is the time of the submission, by the clock of the submitting
	// client.
	Created time.Time
	// Ended is the time of the end of a removed job, by the servers' clock.
	Ended time.Time
	// Path of its znode.
	Path string
}

// fewJoining bounds the queue of the calls that collide: thousands of workers may join at
// once, each reads the names of the queue twice, and the queue only has to be long enough
// for the next calls to be there in time.
const fewJoining = 12

func newJob(client *session.Client, o Options, record job) *Job {
	j := &Job{client: client, opts: o, record: record, run: newRun(o.Root, record.Name, record.ID)}
	j.line = lock.New(client, o.Root+"/"+jobformat.DirJoin+"/"+session.EscapeName(record.Name), &lock.Options{ACL: o.ACL, MaxQueue: fewJoining})
	j.txs = j.newTransactor()
	return j
}

// Attach finds the job by its name, in any state. o may be nil. The error wraps
// ErrNoJob if no such job exists.
func Attach(ctx context.Context, client *session.Client, name string, o *Options) (*Job, error) {
	const op = "attach to"
	opts, err := checkArguments(ctx, client, name, o)
	if err != nil {
		return nil, wrapError(ctx, op, name, err)
	}
	record, err := findRecord(ctx, client, opts.Root+"/"+session.EscapeName(name))
	if err != nil {
		return nil, wrapError(ctx, op, opts.Root+"/"+session.EscapeName(name), err)
	}
	return newJob(client, opts, record), nil
}

// checkArguments checks the arguments of all constructors.
func checkArguments(ctx context.Context, client *session.Client, name string, o *Options) (Options, error) {
	opts, err := o.withDefaults()
	switch e := checkContext(ctx); {
	case e != nil:
		return opts, e
	case err != nil:
		return opts, err
	case client == nil:
		return opts, fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	case name == "":
		return opts, fmt.Errorf("%w: Name is empty", ErrInvalidArgument)
	}
	return opts, checkText("Name", name)
}

// checkContext is the error of a context that is nil or has ended.
func checkContext(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// checkCall checks ctx, and that the job is not a zero value.
func (j *Job) checkCall(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if j.client == nil {
		return fmt.Errorf("%w: a nil or zero Job has no client: get one from Submit or Attach", ErrInvalidArgument)
	}
	return nil
}

// findRecord reads the record of the job at path.
func findRecord(ctx context.Context, client *session.Client, path string) (record job, err error) {
	err = readFresh(ctx, client, func(s *session.Session) error {
		r := newReading(ctx, s)
		seen := r.Get(path)
		switch {
		case r.Err != nil:
			return r.Err
		case !seen.Exists:
			return ErrNoJob
		}
		record, err = jobOf(znode.Base(path), seen.Data)
		if err != nil && checkFormat(seen.Data) == nil {
			err = fmt.Errorf("%w; Janitor.DeleteDamaged (\"zkr job rm --force\") deletes the znode with everything below it", err)
		}
		return err
	})
	return record, err
}

// Name returns the job's name.
func (j *Job) Name() string { return receiver.OrZero(j).record.Name }

// ID returns the job's unique UUID.
func (j *Job) ID() string { return receiver.OrZero(j).record.ID }

// Path returns the path of the job's znode.
func (j *Job) Path() string { return receiver.OrZero(j).run.jobPath() }

// Info returns the state of the job, or its outcome. The error wraps ErrOver if
// the job is over and removed, and the record of its outcome is gone; see
// Options.Retention.
func (j *Job) Info(ctx context.Context) (Info, error) {
	j = receiver.OrZero(j)
	in, err := j.currentInfo(ctx)
	if !errors.Is(err, ErrOver) {
		return in, err
	}
	if out, e := j.readOutcome(ctx); e == nil {
		return out, nil
	}
	return in, err
}

// currentInfo returns the present state of the job; ErrOver if the job is removed.
func (j *Job) currentInfo(ctx context.Context) (Info, error) {
	const op = "look at"
	if err := j.checkCall(ctx); err != nil {
		return Info{}, wrapError(ctx, op, j.Path(), err)
	}
	var info Info
	err := readFresh(ctx, j.client, func(s *session.Session) (err error) {
		info, err = j.readInfo(ctx, s)
		return err
	})
	if err != nil {
		return Info{}, wrapError(ctx, op, j.Path(), err)
	}
	return info, nil
}

func (j *Job) readInfo(ctx context.Context, s *session.Session) (Info, error) {
	r := newReading(ctx, s)
	seen := r.GetAll(j.run.statePath(), j.run.at(jobformat.DirLive))
	st, _ := r.decodeStatus(j, seen[0])
	if r.Err != nil {
		return Info{}, r.Err
	}
	return j.describeJob(st, int(seen[1].Stat.NumChildren)), nil
}

// describeJob returns the job in state st with the number of live workers.
func (j *Job) describeJob(st status, live int) Info {
	r := j.record
	return Info{
		ID: r.ID, Name: r.Name, State: State(st.State), Workers: st.Workers, Joined: st.Next, Left: st.Left, Failed: st.Failed,
		Running: live, ReuseIDs: r.ReuseIDs, Metadata: maps.Clone(r.Metadata),
		Created: r.Created, Path: j.Path(),
	}
}
