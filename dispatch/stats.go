package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Stats is a summary of a queue.
type Stats struct {
	// Tasks counts the tasks by state. The state "" stands for tasks whose records
	// cannot be read. Oldest is the submission time of the oldest waiting task;
	// zero if no task waits.
	Tasks  map[State]int
	Oldest time.Time
	// Unmatched is the number of waiting tasks whose labels no worker has, so
	// that no worker can take them at present. Without workers, all waiting tasks
	// count.
	Unmatched int
	// Published is when the leading master has published Tasks, Oldest and
	// Unmatched, by the servers' clock. The master publishes them within about a
	// second after each change, so an old time means that nothing has changed
	// since. Zero: Stats has read every task.
	Published time.Time
	// Open reports whether the queue accepts tasks; the queue holds at most
	// MaxTasks.
	Open     bool
	MaxTasks int
	// Paused reports whether [Queue.Pause] has paused the queue, so that no tasks are
	// assigned. PausedBy tells by whom, PauseReason why, and PausedSince since when, by the
	// clock of the client that has paused it.
	Paused                bool
	PausedBy, PauseReason string
	PausedSince           time.Time
	// Workers are the live workers, in the order of their ids.
	Workers []WorkerInfo
	// Master is the ID of the leading master, "" if no master leads; Term and
	// Token are those of its leadership.
	Master      string
	Term, Token int64
}

// WorkerInfo describes a worker.
type WorkerInfo struct {
	// ID is the worker's own, which is new with each of its sessions; Name is
	// that of its options.
	ID, Name              string
	Concurrency, Prefetch int
	Labels                []string
	// Draining: the worker accepts no more tasks, and leaves.
	Draining bool
	// Assigned is the number of the worker's tasks, begun or not.
	Assigned int
	// Err is set if the worker's znodes cannot be read, for example if a newer
	// version has written them, so that the worker gets no tasks from a master of
	// this version. It wraps ErrRecord, and only ID and Assigned are set then.
	Err error
}

// CanTake reports whether the worker can be given a task with these labels, now or when
// it has room.
func (w WorkerInfo) CanTake(labels []string) bool {
	return w.Err == nil && !w.Draining && hasAll(w.Labels, labels)
}

// Workers lists the workers that live, in the order of their ids, as of one moment, which
// precedes the call if the server lags behind. A majority of the servers has confirmed an
// empty list. Workers takes one request, and two for each worker; an empty list takes
// three requests.
func (q *Queue) Workers(ctx context.Context) (out []WorkerInfo, err error) {
	q = receiver.OrZero(q)
	const op = "list the workers of"
	if err = q.checkCall(ctx); err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			r := newReading(ctx, s)
			if out, err = q.readWorkers(r); err == nil && len(out) == 0 {
				r.Fresh(q.at(aliveDir), func() { out, _ = q.readWorkers(r) })
				err = r.Err
			}
			return err
		})
	}
	if err != nil {
		return nil, wrapError(ctx, op, q.Path(), err)
	}
	return out, nil
}

// Stats counts tasks and workers. The number of its requests does not depend on the number
// of tasks: eight, and two for each worker.
//
// Tasks, Oldest and Unmatched are what the leading master has published last, at the time
// Published. Stats reads them behind a transaction that a majority of the servers commits,
// and then finds that the same master still leads. The counts may lack the changes of about
// the last second. They lack more while the master is cut off from the servers, which ends
// after its session timeout at the latest, and after a lost connection until the master has
// compared all tasks again. For a count that includes every task submitted before the call,
// use [Queue.List].
//
// Without counts of the leading master, Stats reads every task, which costs as much as
// [Queue.List]: no master leads, the master has not read all tasks yet, its version
// publishes no counts, or the record was deleted or overwritten. Published is zero then, and
// the counts are of a time that a majority of the servers has confirmed not to precede the
// call. So is everything else, in both cases.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	q = receiver.OrZero(q)
	const op = "count the tasks of"
	var out Stats
	var reads optimistic.Batches
	err := q.checkCall(ctx)
	if err == nil {
		err = retryConflicts(ctx, q.client, func(s *session.Session) error {
			out, err = q.readStats(ctx, s, &reads)
			return err
		})
	}
	if err != nil {
		return Stats{}, wrapError(ctx, op, q.Path(), err)
	}
	return out, nil
}

// readStats begins with the published counts, which are proved to be the last ones; the
// later reads in the same session are not older. The master is read second: if it has
// published the counts, it has led since then. The last reads prove that the session, and
// so the order, has lasted until then.
func (q *Queue) readStats(ctx context.Context, s *session.Session, reads *optimistic.Batches) (Stats, error) {
	published, err := q.readCounts(ctx, s)
	if err != nil {
		return Stats{}, err
	}
	leader, err := q.Masters().Leader(ctx)
	if err != nil && !errors.Is(err, election.ErrNoLeader) {
		return Stats{}, err
	}
	out := Stats{Master: leader.ID, Term: leader.Term, Token: leader.Token}
	var tasks []Info
	if published.Exists && published.counts.Token == leader.Token {
		out.useCounts(published)
	} else if tasks, err = q.listTasks(ctx, s, reads, nil); err != nil {
		return out, err
	}
	var l limits
	if l, out.Open, err = q.readLimits(ctx, s); err != nil {
		return out, err
	}
	out.MaxTasks = l.MaxTasks
	if p := l.Paused; p != nil {
		out.Paused, out.PausedBy, out.PauseReason, out.PausedSince = true, p.By, p.Reason, p.Since
	}
	if out.Workers, err = q.readWorkers(newReading(ctx, s)); err != nil {
		return out, err
	}
	if out.Published.IsZero() {
		out.countTasks(tasks)
	}
	return out, nil
}

// seenCounts are the published counts as one request saw them; not Exists if they cannot be
// read.
type seenCounts struct {
	counts
	Exists bool
	mtime  time.Time
}

// readCounts reads the published counts. Garbage, a record of a newer format, and a record
// that may not be read prove nothing about the leading master, and count as none.
func (q *Queue) readCounts(ctx context.Context, s *session.Session) (out seenCounts, err error) {
	r := newReading(ctx, s)
	var node session.Seen
	r.Fresh(q.countsPath(), func() { node = r.Get(q.countsPath()) })
	if errors.Is(r.Err, session.ErrNoAuth) {
		return out, nil
	}
	if r.Err != nil || !node.Exists {
		return out, r.Err
	}
	out.counts, err = decode[counts](node.Data)
	out.Exists, out.mtime = err == nil, time.UnixMilli(node.Stat.Mtime)
	return out, nil
}

// useCounts takes the published counts over.
func (out *Stats) useCounts(published seenCounts) {
	out.Published, out.Oldest, out.Unmatched = published.mtime, published.Oldest, published.Unmatched
	out.Tasks = map[State]int{}
	for state, n := range published.Tasks {
		out.Tasks[State(state)] = n
	}
	if n := published.Unreadable; n > 0 {
		out.Tasks[""] = n
	}
}

// countTasks counts tasks that were read one by one.
func (out *Stats) countTasks(tasks []Info) {
	out.Tasks = map[State]int{}
	for _, t := range tasks {
		out.Tasks[t.State]++
		if t.State != waiting {
			continue
		}
		if out.Oldest.IsZero() || t.Submitted.Before(out.Oldest) {
			out.Oldest = t.Submitted
		}
		if !slices.ContainsFunc(out.Workers, func(w WorkerInfo) bool { return w.CanTake(t.Labels) }) {
			out.Unmatched++
		}
	}
}

// hasAll reports whether labels, which are sorted, has all of wanted.
func hasAll(labels, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(l string) bool {
		_, there := slices.BinarySearch(labels, l)
		return !there
	})
}

func (q *Queue) readWorkers(r *optimistic.Reading) (out []WorkerInfo, err error) {
	ids := r.List(q.at(aliveDir))
	profiles, folders := r.GetAll(q.alivePaths(ids)...), r.StatAll(q.workerPaths(ids)...)
	for i, id := range ids {
		if !profiles[i].Exists || r.Err != nil {
			continue
		}
		p, err := decode[profile](profiles[i].Data)
		if err != nil {
			p, err = profile{}, fmt.Errorf("%s: %w", q.alivePath(id), err)
		}
		out = append(out, WorkerInfo{
			Err: err, ID: id, Name: p.Name, Concurrency: p.Concurrency, Prefetch: p.Prefetch, Labels: p.Labels,
			Draining: p.Draining, Assigned: int(folders[i].Stat.NumChildren),
		})
	}
	slices.SortFunc(out, func(a, b WorkerInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out, r.Err
}
