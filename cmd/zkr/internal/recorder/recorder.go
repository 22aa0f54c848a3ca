package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// beat is the time between two writes.
	beat = 200 * time.Millisecond
	// calm is how long no event has come when a batch is complete, and longest how long a
	// batch may wait for that: changes of one transaction are in one batch.
	calm    = 50 * time.Millisecond
	longest = 500 * time.Millisecond
	// proofs is the time between two records that nothing is missing.
	proofs = time.Second
	// buffer is the number of events that may wait for the inbox, which takes them at once.
	buffer = 1 << 12
	// fullPause is the time between two attempts to write to a full disk.
	fullPause = 10 * time.Second
)

// errBehind means that the disk is too slow for the changes.
var errBehind = errors.New("changes came faster than they could be recorded")

// Recorder records the znodes at and below a root.
type Recorder struct {
	o      Options
	client *session.Client
	w      *recording.Writer
	tree   *cache.Tree[*recording.Znode]
	clock  *clock

	// The fields below belong to the goroutine of Run.
	in      *inbox // of the present connection
	batch   []*recording.Record
	held    int       // the size of the batch in the inbox
	first   time.Time // when the first event of the batch came
	newest  time.Time // when the last event came
	changes int
	// proof is the moment up to which all is recorded, pending the next such moment, if no
	// event waits by then, and noted the one of the last record.
	proof, pending, noted time.Time
	// why is the reason of the next gap, unless resume is not empty: the recording is
	// suspended, for that reason. full says that the disk was found to be full.
	why, resume string
	full        bool
	based       bool             // the snapshot of the present connection has come
	session     *session.Session // of the last connection
	refused     bool             // the servers have refused the session before
}

// New makes a recorder that writes to w, which is not closed.
func New(client *session.Client, root string, w *recording.Writer, o *Options) *Recorder {
	r := &Recorder{w: w, client: client, o: o.withDefaults()}
	r.clock = newClock(r.o.Clock, w.Earlier())
	view := &cache.Options{Buffer: buffer}
	if root == "/" {
		// The server's own nodes have no recipes.
		view.Filter = func(path string) bool { return path != "/zookeeper" }
	}
	r.tree = cache.NewTree(client, root, r.decode, view)
	return r
}

// decode keeps what can be recognized of a znode.
func (r *Recorder) decode(n session.Node) (*recording.Znode, error) {
	data := recognize.NewNode(n.Path, n.Data, n.Stat).Data
	data = slices.Clip(data[:min(len(data), r.o.MaxData)])
	return &recording.Znode{Path: n.Path, Data: data, Size: len(n.Data), Stat: recording.StatOf(n.Stat)}, nil
}

// Run records until ctx ends, and returns its cause then. Any other error is one of the writer,
// or says why the tree cannot be read (see cache.View.Run). Run is called once.
func (r *Recorder) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	// Waited for below; ends with ctx, or when the tree cannot be read.
	go func() { over <- r.tree.Run(ctx) }()
	err := r.record(ctx)
	cancel()
	if viewErr := <-over; viewErr != nil {
		return viewErr
	}
	return err
}

// record records one connection after the other.
func (r *Recorder) record(ctx context.Context) error {
	for {
		since, err := r.awaitSynced(ctx)
		if err != nil {
			return err
		}
		switch err = r.follow(ctx, since); {
		case errors.Is(err, recording.ErrFull), errors.Is(err, recording.ErrDeleted):
			if err = r.suspend(ctx, err); err != nil {
				return err
			}
		case errors.Is(err, errBehind):
			r.why = errBehind.Error()
		case err != nil:
			return err
		default:
			r.why = "the connection was lost"
			r.notify(Event{Kind: "lost"})
		}
	}
}

// suspend gives up the present file. If the disk is full, suspend waits until the next attempt.
func (r *Recorder) suspend(ctx context.Context, why error) error {
	r.batch, r.held = nil, 0
	r.w.Suspend()
	if !errors.Is(why, recording.ErrFull) {
		r.resume = recording.ErrDeleted.Error()
		return nil
	}
	if r.resume = recording.ErrFull.Error(); !r.full {
		r.full = true
		r.notify(Event{Kind: "full", Why: why.Error()})
	}
	pause := time.NewTimer(fullPause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return r.finish(ctx)
	}
}

// awaitSynced waits until the view is in sync with a server of a quorum, and returns the beginning
// of the connection.
func (r *Recorder) awaitSynced(ctx context.Context) (time.Time, error) {
	pause := time.NewTicker(beat)
	defer pause.Stop()
	for {
		if err := r.tree.WaitSynced(ctx); err != nil {
			return time.Time{}, err
		}
		if st := r.tree.Status(); st.Synced && st.Connected {
			return st.Since, r.renewSession(ctx)
		}
		select {
		case <-pause.C: // a server without a quorum, or a loss since
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}

// renewSession notes the session of a connection, and whether the servers have refused the
// former one.
func (r *Recorder) renewSession(ctx context.Context) error {
	s, err := r.client.Session(ctx)
	if err != nil {
		return err
	}
	if former := r.session; former != nil && former != s && errors.Is(former.Err(), session.ErrRefused) {
		r.refused = true
	}
	r.session = s
	return nil
}

// isOn reports whether the view still follows the connection that began at since.
func (r *Recorder) isOn(since time.Time) bool {
	st := r.tree.Status()
	return st.Connected && st.Since.Equal(since)
}

// follow records one connection, and returns nil when it is lost.
func (r *Recorder) follow(ctx context.Context, since time.Time) error {
	within, cancel := context.WithCancel(ctx)
	r.in, r.pending = newInbox(r.clock, r.o.MaxWaiting), time.Time{}
	r.based = false
	over := make(chan struct{})
	var workers sync.WaitGroup
	defer func() {
		cancel()
		workers.Wait()
	}()
	// Waited for above; ends with its context, or with the connection.
	workers.Go(func() {
		defer close(over)
		r.forward(within, r.in, since)
	})
	// Waited for above; ends with its context.
	workers.Go(func() { r.in.watchPauses(within) })
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		due, lost := false, false
		select {
		case <-ctx.Done():
		case <-over:
			lost = true
		case <-r.in.wake:
		case <-tick.C:
			due = true
		}
		lost = lost || !r.isOn(since)
		if err := r.takeChanges(); err != nil {
			return err
		}
		switch {
		case r.tree.Status().Err != nil, ctx.Err() != nil:
			return r.finish(ctx)
		case lost:
			return r.flushAll()
		case due:
			if err := r.writeDue(); err != nil {
				return err
			}
		}
	}
}

// forward puts the changes of one connection into the inbox, until the connection is lost, the
// inbox is full, or ctx ends.
func (r *Recorder) forward(ctx context.Context, in *inbox, since time.Time) {
	for ev, err := range r.tree.Events(ctx) {
		// The status is read after the event has come: an event of a later connection is
		// in the differences of that one.
		if err != nil || !r.isOn(since) {
			return // Run has the reason
		}
		var e entry
		switch {
		case ev.Kind == cache.EventSnapshot:
			e.snapshot = ev.Snapshot
		case ev.Kind == cache.EventRemoved:
			e.record = &recording.Record{Kind: recording.Gone, Path: ev.Path()}
		case ev.New.Err != nil || ev.New.Value == nil: // it exists, but may not be read
			continue
		default:
			e.record = ev.New.Value.SetRecord(time.Time{})
		}
		if !in.put(e) {
			return
		}
	}
}

// finish writes what waits. The error is the cause of ctx, or that of the writer.
func (r *Recorder) finish(ctx context.Context) error {
	if err := r.flushAll(); err != nil {
		return err
	}
	r.notify(Event{Kind: "stopped"})
	if ctx.Err() == nil {
		return fmt.Errorf("record: %w", r.tree.Status().Err)
	}
	return context.Cause(ctx)
}

func (r *Recorder) notify(e Event) {
	e.At = recording.Moment(r.clock.now())
	r.fill(&e)
	r.o.Notify(e)
}

// fill sets the numbers of an event.
func (r *Recorder) fill(e *Event) {
	if s := r.w.State(); s != nil {
		e.Znodes = s.Len()
	}
	e.Changes = r.changes
	e.Files, e.Bytes = r.w.Files()
}
