package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Info describes a task.
type Info struct {
	ID    string
	State State
	// Attempt is the number of the present attempt, of the next attempt of a
	// waiting task, or of the last attempt of a finished task.
	Attempt, MaxAttempts int
	Priority             int
	Labels               []string
	// Worker has the task, or had it when it ended; Assigned is since when.
	Worker   string
	Assigned time.Time
	// Submitted is measured by the submitting client's clock. NotBefore is the
	// earliest time of the next attempt. Deadline and Finished are zero if the
	// task has none.
	Submitted, NotBefore, Deadline, Finished time.Time
	Retention, DeadRetention                 time.Duration
	// LastFailure is the error of the last failed attempt.
	LastFailure string
	// Key is that of a task of [Queue.SubmitUnique], and KeyUntil the end of its period;
	// zero without a period.
	Key      string
	KeyUntil time.Time
	// Order is the task's place: of two tasks of the same priority, the task with
	// the lower Order goes first. It is the zxid of the submission; 0 in
	// [Queue.Running].
	Order int64
	// Done, Total and Note are what the handler has reported last by
	// [Attempt.ReportProgress], and Reported is when the worker has written them, by the
	// servers' clock; zero without a report. Only [Queue.Running] sets them.
	Done, Total int64
	Note        string
	Reported    time.Time
	// Err is set if the znode's data is not a task; it wraps ErrRecord. Only ID,
	// the znode's name, and Order are set then.
	Err error
}

func (t seen) toInfo() Info {
	return Info{
		ID: t.ID, State: State(t.State), Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, Priority: t.Priority,
		Labels: t.Labels, Worker: t.Worker, Assigned: t.AssignedAt, Submitted: t.Submitted, NotBefore: t.NotBefore,
		Deadline: t.Deadline, Finished: t.FinishedAt, Retention: t.Retention.Duration(),
		DeadRetention: cmp.Or(t.DeadRetention.Duration(), defaultDeadRetention),
		LastFailure:   t.LastFailure, Order: t.czxid, Key: t.Unique, KeyUntil: t.UniqueUntil,
	}
}

// Get reads the state of a task. The error wraps ErrNoTask if the task does not
// exist, as a majority of the servers has confirmed. Get takes two requests, or
// four for a missing task.
func (q *Queue) Get(ctx context.Context, id string) (Info, error) {
	q = receiver.OrZero(q)
	const op = "get a task of"
	var t *seen
	err := q.checkCall(ctx)
	if err == nil {
		err = checkID(id)
	}
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			t, err = q.readTask(ctx, s, id)
			return err
		})
	}
	if err == nil && t == nil {
		err = noTask(id)
	}
	if err != nil {
		return Info{}, wrapError(ctx, op, q.Path(), err)
	}
	return t.toInfo(), nil
}

// List lists the tasks in the given states, or all tasks without a state, in the
// order of submission; each task is shown as of the time of its read, which a
// majority of the servers has confirmed not to precede the call. The dead tasks are
// the dead-letter list. A missing queue has no tasks. List reads every task of the
// queue, in any state, up to 128 of them with one request, and takes 258 more requests.
func (q *Queue) List(ctx context.Context, states ...State) ([]Info, error) {
	q = receiver.OrZero(q)
	const op = "list the tasks of"
	var out []Info
	var reads optimistic.Batches
	err := q.checkCall(ctx)
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			out, err = q.listTasks(ctx, s, &reads, states)
			return err
		})
	}
	if err != nil {
		return nil, wrapError(ctx, op, q.Path(), err)
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Order, b.Order) })
	return out, nil
}

// listTasks lists the tasks in the given states, or all. reads are those of the call.
func (q *Queue) listTasks(ctx context.Context, s *session.Session, reads *optimistic.Batches, states []State) (out []Info, err error) {
	paths, err := q.listPaths(ctx, s, tasksDir)
	if err != nil {
		return nil, err
	}
	r := newReading(ctx, s)
	for i, node := range reads.GetAll(r, paths) {
		info := q.infoOf(node, paths[i])
		if node.Exists && (len(states) == 0 || info.Err != nil || slices.Contains(states, info.State)) {
			out = append(out, info)
		}
	}
	return out, r.Err
}

// listPaths lists the paths in all buckets of a folder, behind a transaction: a leader that
// has lost its followers would answer a sync, and deny tasks that a majority has confirmed.
// The transaction costs a request; to prove an empty answer afterwards would cost all
// requests again. Later reads in s are not older.
func (q *Queue) listPaths(ctx context.Context, s *session.Session, dir string) (paths []string, err error) {
	r := newReading(ctx, s)
	var buckets []string
	r.Fresh(q.at(dir), func() { buckets = r.List(q.at(dir)) })
	lists := r.ListAll(pathsOf(buckets, func(bucket string) string { return q.at(dir, bucket) })...)
	for i, list := range lists {
		for _, name := range list.Children {
			paths = append(paths, q.at(dir, buckets[i], name))
		}
	}
	return paths, r.Err
}

// infoOf describes a task that was read at path.
func (l layout) infoOf(node session.Seen, path string) Info {
	rec, err := l.decodeTask(path, node.Data)
	if err != nil {
		return Info{ID: znode.Base(path), Order: node.Stat.Czxid, Err: err}
	}
	return seenAs(rec, node.Stat).toInfo()
}

// readLimits reports whether the queue takes tasks, how many in all, and whether it is paused.
// The state is not older than earlier reads in s.
func (q *Queue) readLimits(ctx context.Context, s *session.Session) (l limits, open bool, err error) {
	r := newReading(ctx, s)
	nodes := r.GetAll(q.at(admissionDir), q.openPath())
	if err, open = r.Err, nodes[1].Exists || !nodes[0].Exists; err == nil && nodes[0].Exists {
		l, err = q.decodeLimits(nodes[0].Data)
	}
	l.MaxTasks = cmp.Or(l.MaxTasks, q.opts.MaxTasks, defaultMaxTasks)
	return l, open, err
}
