package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// taskView shows the tasks of the queue to the scheduler, by a persistent watch in the
// session of the leadership. A cache.Tree would do the same, and keep every record: the view
// keeps no record. It remembers nothing but the reads in progress, and relies on the same
// promises as package cache:
//
//   - Events come in their order, and before any reply that shows the change.
//   - A reply may be older than an event that came before it. So an event during a read of
//     the same znode makes for one more read, and the reply to a read is void if the znode
//     was deleted meanwhile.
//   - On a new connection everything may have changed: all tasks are listed and read.
type taskView struct {
	t     *mastership
	inbox taskInbox
	sub   *session.Subscription

	// The fields below belong to the loop.
	gen   int                  // counts connections
	reads map[string]*taskRead // in progress, by path
	queue []*taskRead          // those that are not sent yet
	// flying is how many requests have no reply yet, size is how many reads the next
	// request has at most.
	flying int
	size   optimistic.BatchSize
	// lists are the buckets that are to be listed, listing is how many lists are in
	// flight, and unread how many reads of the load are in progress. shown: all tasks have
	// been shown once.
	lists           []string
	listing, unread int
	loading, shown  bool
	// urgent is how many of the tasks are still to be read that the master has asked for.
	urgent int
	// known are the tasks that were known when the load began, by bucket.
	known map[string][]string
	// ids are the ids of tasks with another name, by path.
	ids map[string]string
}

// taskRead is a read of a task in progress.
type taskRead struct {
	path string
	// sent: its request has left. again: an event has come since. void: the znode was
	// deleted since. load: the read belongs to the load. due: the task is to be assigned
	// soon, and does not go to the backlog. urgent: the master waits for it.
	sent, again, void, load, due, urgent bool
}

const (
	firstTaskReads = 16
	tasksInFlight  = 8 // requests
	listsInFlight  = 16
	// listAhead is how many reads may wait for a request before the next bucket is listed.
	listAhead = 16 << 10
)

// followTasks shows the tasks to the scheduler until ctx ends or the session does.
func (t *mastership) followTasks(ctx context.Context) error {
	v := &taskView{t: t, inbox: taskInbox{wake: make(chan struct{}, 1)}, reads: map[string]*taskRead{}, size: optimistic.BatchSize{First: firstTaskReads}, ids: map[string]string{}}
	t.mu.Lock()
	t.view = v
	t.mu.Unlock()
	err := v.run(ctx)
	if errors.Is(err, session.ErrUnsupported) || errors.Is(err, session.ErrInvalidOption) {
		return t.followTree(ctx)
	}
	return err
}

func (v *taskView) run(ctx context.Context) (err error) {
	if v.sub, err = v.t.s.Subscribe(ctx, v.t.at(tasksDir), true, v.inbox.putEvent); err != nil {
		return err
	}
	defer func() { v.sub.Stop() }()
	if err := v.beginLoad(); err != nil {
		return err
	}
	for {
		v.send()
		select {
		case <-v.inbox.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		got := v.inbox.takeItems()
		if err := v.handleItems(got.items); err != nil {
			return err
		}
		if got.overrun {
			if err := v.beginLoad(); err != nil {
				return err
			}
		}
		for _, path := range got.changed {
			v.read(path)
		}
		if got.wanted {
			v.readNext()
		}
		if got.urgent != nil {
			v.readUrgent(got.urgent)
		}
	}
}

// read has the task on path read, unless that is in progress.
func (v *taskView) read(path string) *taskRead {
	r := v.reads[path]
	switch {
	case r == nil:
		r = &taskRead{path: path}
		v.reads[path] = r
		v.queue = append(v.queue, r)
	case r.sent:
		r.again = true
	}
	return r
}

// handleItems handles events and replies, in their order.
func (v *taskView) handleItems(items []taskItem) error {
	urgent := v.urgent
	for _, it := range items {
		var err error
		switch {
		case it.reads != nil:
			err = v.onReads(it)
		case it.list:
			err = v.onList(it)
		case it.event.Type == session.EventReattached:
			err = v.beginLoad()
		case it.event.Type == session.EventSessionOver:
			err = v.t.s.Err()
		case it.event.Type == session.EventDisconnected:
			err = fmt.Errorf("%w: the watch of the tasks has ended", session.ErrUnsupported)
		default:
			v.onEvent(it.event)
		}
		if err != nil {
			return err
		}
	}
	if urgent > 0 {
		v.endUrgent()
	}
	v.endLoad()
	return nil
}

// onEvent takes an event of the watch.
func (v *taskView) onEvent(ev session.Event) {
	rest, below := strings.CutPrefix(ev.Path, v.t.at(tasksDir)+"/")
	if !below {
		return
	}
	bucket, name, deep := strings.Cut(rest, "/")
	switch {
	case !deep && ev.Type == session.EventDataChanged:
		v.lists = append(v.lists, bucket) // a server reports a bucket so that could not be read before
	case !deep || strings.Contains(name, "/"):
		// The children of a new bucket are reported themselves.
	case ev.Type == session.EventDataChanged && v.reads[ev.Path] == nil && v.skips(ev.Path):
	case ev.Type != session.EventDeleted:
		v.read(ev.Path)
	default:
		if r := v.reads[ev.Path]; r != nil {
			v.endRead(r)
			r.void = true
		}
		v.t.updateScheduler(func(sc *scheduler) {
			sc.tally.noteRecord(ev.Path, true)
			v.dropTask(sc, ev.Path)
		})
	}
}

// skips reports whether the task on path need not be read, as the master has changed it.
func (v *taskView) skips(path string) bool {
	id := v.idOf(path)
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	return v.t.taskPath(id) == path && v.t.scheduler.skipsEvent(id)
}

// endRead ends a read in progress.
func (v *taskView) endRead(r *taskRead) {
	if v.reads[r.path] == r {
		delete(v.reads, r.path)
	}
	if r.load {
		v.unread--
	}
	if r.urgent {
		v.urgent--
	}
	r.load, r.urgent = false, false
}

// idOf is the id of the task on path, if a task with this path can be on the scheduler.
func (v *taskView) idOf(path string) string {
	if id, there := v.ids[path]; there {
		return id
	}
	return znode.Base(path)
}

// dropTask takes the task on path from the scheduler.
func (v *taskView) dropTask(sc *scheduler, path string) {
	id := v.idOf(path)
	if v.t.taskPath(id) == path {
		sc.dropTask(id, maxZxid)
		sc.backlog.dropTask(id)
		delete(v.ids, path)
	}
}

// maxZxid is later than every change.
const maxZxid = 1<<63 - 1

// onReads handles the reply to a request.
func (v *taskView) onReads(it taskItem) error {
	if it.gen != v.gen {
		return nil
	}
	v.flying--
	refused := v.size.Learn(len(it.reads) > 1, it.results, it.err)
	switch {
	case it.err == nil:
	case session.NotSent(it.err), session.Unanswered(it.err), refused && errors.Is(it.err, session.ErrReplyTooLarge):
		return nil // the watch reports the next connection
	default:
		return it.err
	}
	tasks, errs := make([]*seen, len(it.reads)), make([]error, len(it.reads))
	for i, one := range it.results {
		if !it.reads[i].void && one.Err == nil {
			tasks[i], errs[i] = v.t.decodeSeen(it.reads[i].path, session.Seen{Exists: true, Data: one.Data, Stat: one.Stat})
		} else {
			errs[i] = one.Err
		}
	}
	v.t.updateScheduler(func(sc *scheduler) {
		for i, r := range it.reads {
			if !r.void {
				v.show(sc, r, tasks[i], errs[i])
			}
		}
	})
	return nil
}

// show shows the reply to a read to the scheduler.
func (v *taskView) show(sc *scheduler, r *taskRead, task *seen, err error) {
	v.endRead(r)
	if r.again {
		next := v.read(r.path)
		next.due = r.due
		if errors.Is(err, session.ErrNoNode) {
			return // it may have been created since: the next reply will tell
		}
	}
	if !errors.Is(err, session.ErrNoNode) {
		sc.tally.noteRecord(r.path, err == nil)
	} else {
		sc.tally.noteRecord(r.path, true)
	}
	if err != nil {
		v.dropTask(sc, r.path)
		return
	}
	if task.ID != znode.Base(r.path) {
		v.ids[r.path] = task.ID
	}
	sc.showTask(*task, r.due)
}
