package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Info is a task as others see it.
type Info struct {
	ID    string
	State State
	// Attempt is the number of the present attempt, or of the next one, or, of a
	// finished task, of the last one.
	Attempt, MaxAttempts int
	Priority             int
	Labels               []string
	// Worker has the task, or had it when it ended; Assigned is since when.
	Worker   string
	Assigned time.Time
	// Submitted, by the clock of who submitted. NotBefore is when the next
	// attempt may begin; Deadline and Finished are zero if there is none.
	Submitted, NotBefore, Deadline, Finished time.Time
	Retention                                time.Duration
	// LastFailure is why the last attempt that ended has failed.
	LastFailure string
	// Order is the task's place: of two of the same priority the one with the
	// lower Order goes first. It is the zxid of the submission.
	Order int64
	// Err says that the znode's data is no task; it wraps ErrRecord, and only ID,
	// the znode's name, and Order are set then.
	Err error
}

func (t seen) info() Info {
	return Info{
		ID: t.ID, State: t.State, Attempt: t.Attempt, MaxAttempts: t.MaxAttempts, Priority: t.Priority,
		Labels: t.Labels, Worker: t.Worker, Assigned: t.AssignedAt, Submitted: t.Submitted, NotBefore: t.NotBefore,
		Deadline: t.Deadline, Finished: t.FinishedAt, Retention: t.Retention.duration(),
		LastFailure: t.LastFailure, Order: t.czxid,
	}
}

// Get reads how a task stands. The error wraps ErrNoTask if there is none. It
// takes two requests.
func (q *Queue) Get(ctx context.Context, id string) (Info, error) {
	const op = "get a task of"
	var t *seen
	err := q.begin(ctx)
	if err == nil {
		err = checkID(id)
	}
	if err == nil {
		err = persist(ctx, q.client, func(s *session.Session) error {
			t, err = q.look(ctx, s, id, true)
			return err
		})
	}
	if err == nil && t == nil {
		err = noTask(id)
	}
	if err != nil {
		return Info{}, failure(ctx, op, q.Path(), err)
	}
	return t.info(), nil
}

// List lists the tasks that are in one of states, all if there is none, in the
// order in which they were submitted: each as it was when it was read. The dead
// are the dead-letter list. A queue that does not exist has none. It takes a
// request for each task, whatever its state, and 257 more.
func (q *Queue) List(ctx context.Context, states ...State) ([]Info, error) {
	const op = "list the tasks of"
	var out []Info
	err := q.begin(ctx)
	if err == nil {
		err = persist(ctx, q.client, func(s *session.Session) error {
			out, err = q.list(ctx, s, states)
			return err
		})
	}
	if err != nil {
		return nil, failure(ctx, op, q.Path(), err)
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Order, b.Order) })
	return out, nil
}

// together is how many reads are under way at a time.
const together = 512

func (q *Queue) list(ctx context.Context, s *session.Session, states []State) (out []Info, err error) {
	r := newReading(ctx)
	synced, list := s.StartSync(q.at(tasksDir)), s.StartChildren(q.at(tasksDir), false)
	r.Synced(synced)
	dirs, _ := r.IfThere(list)
	var lists []*session.Future[session.Seen]
	for _, dir := range dirs.Children {
		lists = append(lists, s.StartChildren(q.at(tasksDir, dir), false))
	}
	var paths []string
	for i, list := range lists {
		names, _ := r.IfThere(list)
		for _, name := range names.Children {
			paths = append(paths, q.at(tasksDir, dirs.Children[i], name))
		}
	}
	for chunk := range slices.Chunk(paths, together) {
		reads := make([]*session.Future[session.Seen], len(chunk))
		for i, path := range chunk {
			reads[i] = s.StartGet(path, false)
		}
		for i, read := range reads {
			info, there := r.info(read, chunk[i])
			if there && (len(states) == 0 || info.Err != nil || slices.Contains(states, info.State)) {
				out = append(out, info)
			}
		}
	}
	return out, r.Err
}

// info reads a task for people.
func (r *reading) info(f *session.Future[session.Seen], path string) (Info, bool) {
	got, there := r.IfThere(f)
	if !there {
		return Info{}, false
	}
	rec, err := decode[record](got.Data)
	if err != nil {
		return Info{ID: lastPart(path), Order: got.Stat.Czxid, Err: err}, true
	}
	return seen{record: rec, czxid: got.Stat.Czxid}.info(), true
}

// isOpen reports whether the queue takes tasks, and how many in all.
func (q *Queue) isOpen(ctx context.Context, s *session.Session) (open bool, maxTasks int, err error) {
	r := newReading(ctx)
	synced := s.StartSync(q.at(admissionDir))
	admission, node := s.StartGet(q.at(admissionDir), false), s.StartExists(q.open(), false)
	r.Synced(synced)
	data, there := r.IfThere(admission)
	exists := r.Seen(node)
	if r.Err != nil || !there {
		return !there, cmp.Or(q.opts.MaxTasks, defaultMaxTasks), r.Err
	}
	l, err := decode[limits](data.Data)
	return exists.Exists, l.MaxTasks, err
}
