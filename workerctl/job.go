package workerctl

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Spec describes a job to submit.
type Spec struct {
	// Name of the job: any text, unique below the root.
	Name string
	// Workers is how many it has, at least 1.
	Workers int
	// Metadata is for whoever looks at the job; may be nil.
	Metadata map[string]string
	// ReuseIDs is for jobs whose workers come and go: the id of a worker that
	// has left goes to the next one that joins, the lowest first. Otherwise an
	// id belongs to its identity until the job ends, and to have left is to
	// have finished.
	ReuseIDs bool
}

// Job is a job that was submitted: from one submission to its end. Another job of
// the same name, later, is another Job.
type Job struct {
	client *session.Client
	opts   Options
	record job
	run    run
	// line is what those who join queue up in when they get into each other's
	// way. It keeps thousands from trying at once; that they all get different
	// ids is not its doing.
	line *lock.Mutex
}

// Info is a job as it was at one moment, which is over.
type Info struct {
	// ID is a UUID; no other job has it.
	ID   string
	Name string
	// State: see [State].
	State State
	// Workers is how many the job has; Joined how many ids were given out;
	// Left how many of these have left; Running how many live.
	Workers, Joined, Left, Running int
	ReuseIDs                       bool
	Metadata                       map[string]string
	// Created is when it was submitted, by the clock of who did that.
	Created time.Time
	// Path of its znode.
	Path string
}

func newJob(client *session.Client, o Options, record job) *Job {
	j := &Job{client: client, opts: o, record: record, run: newRun(o.Root, record.Name, record.ID)}
	j.line = lock.New(client, o.Root+"/"+joinDir+"/"+session.EscapeName(record.Name), &lock.Options{ACL: o.ACL})
	return j
}

// Attach finds the job of that name, whatever its state. o may be nil. The error
// wraps ErrNoJob if there is none.
func Attach(ctx context.Context, client *session.Client, name string, o *Options) (*Job, error) {
	const op = "attach to"
	opts, err := begin(ctx, client, name, o)
	if err != nil {
		return nil, failure(ctx, op, name, err)
	}
	record, err := find(ctx, client, opts.Root+"/"+session.EscapeName(name))
	if err != nil {
		return nil, failure(ctx, op, opts.Root+"/"+session.EscapeName(name), err)
	}
	return newJob(client, opts, record), nil
}

// begin checks what all constructors are given.
func begin(ctx context.Context, client *session.Client, name string, o *Options) (Options, error) {
	opts, err := o.withDefaults()
	switch {
	case ctx.Err() != nil:
		return opts, context.Cause(ctx)
	case err != nil:
		return opts, err
	case client == nil:
		return opts, fmt.Errorf("%w: the client is nil", ErrArgument)
	case name == "":
		return opts, fmt.Errorf("%w: Name is empty", ErrArgument)
	}
	return opts, text("Name", name)
}

// find reads the record of the job at path.
func find(ctx context.Context, client *session.Client, path string) (record job, err error) {
	err = persist(ctx, client, func(s *session.Session) error {
		r := newReading(ctx)
		synced, read := s.StartSync(path), s.StartGet(path, false)
		r.Synced(synced)
		seen, there := r.IfThere(read)
		switch {
		case r.Err != nil:
			return r.Err
		case !there:
			return ErrNoJob
		}
		record, err = jobOf(path[strings.LastIndexByte(path, '/')+1:], seen.Data)
		return err
	})
	return record, err
}

// Name is the job's name.
func (j *Job) Name() string { return j.record.Name }

// ID is a UUID that no other job has.
func (j *Job) ID() string { return j.record.ID }

// Path is the job's znode.
func (j *Job) Path() string { return j.run.job() }

// Info says how the job stands. When it is over and removed the error wraps
// ErrOver.
func (j *Job) Info(ctx context.Context) (Info, error) {
	const op = "look at"
	if ctx.Err() != nil {
		return Info{}, failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	var info Info
	err := persist(ctx, j.client, func(s *session.Session) (err error) {
		info, err = j.info(ctx, s)
		return err
	})
	if err != nil {
		return Info{}, failure(ctx, op, j.Path(), err)
	}
	return info, nil
}

func (j *Job) info(ctx context.Context, s *session.Session) (Info, error) {
	r := newReading(ctx)
	synced, state, live := j.sync(s), s.StartGet(j.run.at(stateNode), false), s.StartExists(j.run.at(liveDir), false)
	r.Synced(synced)
	st, _ := r.status(state)
	seen := r.Seen(live)
	if r.Err != nil {
		return Info{}, r.Err
	}
	return j.describe(st, int(seen.Stat.NumChildren)), nil
}

// describe is the job in the state st with so many workers that live.
func (j *Job) describe(st status, live int) Info {
	r := j.record
	return Info{
		ID: r.ID, Name: r.Name, State: st.State, Workers: st.Workers, Joined: st.Next, Left: st.Left,
		Running: live, ReuseIDs: r.ReuseIDs, Metadata: maps.Clone(r.Metadata),
		Created: r.Created, Path: j.Path(),
	}
}
