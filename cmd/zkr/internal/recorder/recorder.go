package recorder

import (
	"context"
	"fmt"
	"slices"
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
	// buffer is the number of events that may wait for the recorder.
	buffer = 1 << 16
)

// DefaultMaxData is the default of Options.MaxData: the largest records of the recipes fit.
const DefaultMaxData = 300 << 10

// Event is something that a user of the recorder should know.
type Event struct {
	// Kind is "recording" when the recording has begun or goes on after a gap, "lost" when
	// the connection is lost, and "stopped" at the end.
	Kind string `json:"event"`
	// At is when it happened. After is the beginning of the gap.
	At    time.Time `json:"at"`
	After time.Time `json:"not_recorded_after,omitzero"`
	// Why is the reason of the gap.
	Why string `json:"why,omitempty"`
	// Znodes is the number of znodes, and Changes that of the changes so far.
	Znodes  int `json:"znodes"`
	Changes int `json:"changes"`
	// Files and Bytes are those of the whole recording.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes,string"`
}

// Options are the optional arguments of New. nil means all defaults.
type Options struct {
	// MaxData is how many bytes of each znode's data are kept. Of data that is no record of
	// a recipe, less is kept: see recognize.NewNode. Default: DefaultMaxData.
	MaxData int
	// Notify is called for each event by the goroutine of Run. Default: none.
	Notify func(Event)
	// Progress is called after each beat, by the goroutine of Run. Default: none.
	Progress func(Event)
}

// Recorder records the znodes at and below a root.
type Recorder struct {
	o    Options
	w    *recording.Writer
	tree *cache.Tree[*recording.Znode]

	// The fields below belong to the goroutine of Run.
	batch   []*recording.Record
	first   time.Time // when the first event of the batch came
	newest  time.Time // when the last event came
	changes int
	// proof is the moment up to which all is recorded, pending the next such moment, if no
	// event waits by then, and noted the one of the last record.
	proof, pending, noted time.Time
}

// New makes a recorder that writes to w, which is not closed.
func New(client *session.Client, root string, w *recording.Writer, o *Options) *Recorder {
	r := &Recorder{w: w}
	if o != nil {
		r.o = *o
	}
	if r.o.MaxData == 0 {
		r.o.MaxData = DefaultMaxData
	}
	for _, fn := range []*func(Event){&r.o.Notify, &r.o.Progress} {
		if *fn == nil {
			*fn = func(Event) {}
		}
	}
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
		if err := r.follow(ctx, since); err != nil {
			return err
		}
		r.notify(Event{Kind: "lost"})
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
			return st.Since, nil
		}
		select {
		case <-pause.C: // a server without a quorum, or a loss since
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		}
	}
}

// isOn reports whether the view still follows the connection that began at since.
func (r *Recorder) isOn(since time.Time) bool {
	st := r.tree.Status()
	return st.Connected && st.Since.Equal(since)
}

// follow records one connection, and returns nil when it is lost.
func (r *Recorder) follow(ctx context.Context, since time.Time) error {
	within, cancel := context.WithCancel(ctx)
	events, over := make(chan cache.Event[*recording.Znode]), make(chan struct{})
	defer func() {
		cancel()
		<-over
	}()
	// Waited for above; ends with its context, or when the tree cannot be read.
	go func() {
		defer close(over)
		for ev, err := range r.tree.Events(within) {
			if err != nil {
				return // Run has the reason
			}
			select {
			case events <- ev:
			case <-within.Done():
			}
		}
	}()
	tick := time.NewTicker(beat)
	defer tick.Stop()
	r.pending = time.Time{}
	why := "the connection was lost"
	for {
		var err error
		select {
		case <-ctx.Done():
			return r.finish(ctx)
		case <-over:
			return r.finish(ctx)
		case ev := <-events:
			// The status is read after the event has come: an event of a later
			// connection is in the differences of that one.
			switch {
			case !r.isOn(since):
				return r.flushAll()
			case ev.Kind == cache.EventSnapshot:
				err = r.rebase(ev.Snapshot, why)
				why = "changes came faster than they could be recorded"
			default:
				r.addChange(ev)
			}
		case <-tick.C:
			if !r.isOn(since) {
				return r.flushAll()
			}
			err = r.writeDue()
		}
		if err != nil {
			return err
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
	e.At = recording.Moment(time.Now())
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
