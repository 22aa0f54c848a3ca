package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Reader reads the history of the znodes at and below a root. One goroutine at a time may
// use a Reader, except for Progress.
type Reader struct {
	o      Options
	source source
	tree   *tree
	start  *start
	know   recognize.Recognizer
	stays  stays
	lines  *lines
	breaks *breaks // of a recording, or nil
	herds  *herds  // nil if they are not looked for
	sum    Summary
	began  bool // the first state exists
}

// source has transactions in their order.
type source interface {
	Next() (*txnlog.Txn, error)
	Progress() (done, total int64)
	Close() error
}

// ErrNoStart means that no snapshot, and no first log, shows the state that the logs change.
var ErrNoStart = errors.New("no state to begin with: the logs do not begin with the ensemble, and no complete snapshot is as old as they are")

// NewReader opens the files of one or several servers of an ensemble, and reads the first state.
// The caller closes the reader. The error wraps ErrNoStart, or is one of the file system or of
// txnlog, or the cause of the end of ctx.
func NewReader(ctx context.Context, root string, folders []*txnlog.Folder, o *Options) (*Reader, error) {
	r := newReader(root, o)
	var err error
	if r.start, err = findStart(ctx, r.tree, folders, r.o.Report); err != nil {
		return nil, err
	}
	r.sum.Snapshot, r.sum.Last.Zxid = r.start.file, r.start.exact
	r.source, err = txnlog.NewMerge(&txnlog.ReadOptions{From: r.start.from, Report: r.o.Report}, folders...)
	return r, err
}

// ErrNotRecorded means that a recording has nothing of a path.
var ErrNotRecorded = errors.New("not recorded")

// NewRecordingReader opens a recording, and reads the first state. The context is that of the
// whole reading. The caller closes the reader. The error wraps recording.ErrNoFiles or
// ErrNotRecorded, or is one of the file system, or the cause of the end of ctx.
func NewRecordingReader(ctx context.Context, root string, folder *recording.Folder, o *Options) (*Reader, error) {
	r := newReader(root, o)
	src := r.readRecording(ctx, folder)
	var last txnlog.Zxid
	at, file, err := src.start(func(z *recording.Znode, at time.Time) {
		n := z.Node()
		last = max(last, n.Stat.Czxid, n.Stat.Mzxid, n.Stat.Pzxid)
		r.tree.load(n)
		r.breaks.load(z, at)
	})
	if err != nil {
		_ = src.Close() // only read
		return nil, fmt.Errorf("history: %w", err)
	}
	switch recorded := newTree(src.src.Root()); {
	case r.tree.within(recorded.root):
		r.sum.Root = recorded.root
	case !recorded.within(root):
		_ = src.Close() // only read
		return nil, fmt.Errorf("history: %s: %w: the recording has the znodes at and below %s", root, ErrNotRecorded, recorded.root)
	}
	r.source, r.start.at, r.sum.Snapshot, r.sum.Recorded = src, Moment{at, last}, file, true
	r.sum.Last = r.start.at
	return r, nil
}

// readRecording makes the source of a recording.
func (r *Reader) readRecording(ctx context.Context, folder *recording.Folder) *ahead {
	r.lines.off = true // a znode may be seen after later ones
	src := newAhead(ctx, folder, r.o.Report)
	r.breaks = &breaks{known: map[string]*seenBreak{}, ahead: src}
	r.stays.findBreak = r.breaks.find
	return src
}

// newReader makes a reader without files.
func newReader(root string, o *Options) *Reader {
	r := &Reader{tree: newTree(root), start: &start{}, know: recognize.Recognizer{OnlyThings: true}, sum: Summary{Root: root}}
	if o != nil {
		r.o = *o
	}
	for _, fn := range []*func(*Stay){&r.o.Began, &r.o.Granted, &r.o.Ended} {
		if *fn == nil {
			*fn = func(*Stay) {}
		}
	}
	if r.o.Herd != nil {
		r.herds = &herds{within: r.tree.within, found: r.o.Herd}
	}
	if r.o.Report == nil {
		r.o.Report = func(txnlog.Finding) {}
	}
	r.stays = stays{open: map[place]*Stay{}, of: map[string]map[place]bool{}, began: r.o.Began, granted: r.o.Granted, ended: r.o.Ended, findBreak: loggedBreak}
	r.stays.described = func(s *Stay) {
		if r.o.steps != nil {
			r.o.steps.described(s)
		}
	}
	r.lines = newLines(r)
	r.lines.off = r.o.whole
	r.know.Late = r.lines.take
	return r
}

// Close closes the files.
func (r *Reader) Close() error {
	if r.source == nil {
		return nil
	}
	return r.source.Close()
}

// Progress is how many bytes of how many have been read.
func (r *Reader) Progress() (done, total int64) { return r.source.Progress() }

// Run reads until the end of the logs, or until Options.Until. After an error the summary is
// that of what was read.
func (r *Reader) Run(ctx context.Context) (Summary, error) {
	var failed error
	if !r.start.at.Time.IsZero() {
		r.beginState(r.start.at)
	}
	for failed == nil {
		if r.sum.Transactions%4096 == 0 && ctx.Err() != nil {
			failed = context.Cause(ctx)
			break
		}
		txn, err := r.source.Next()
		if errors.Is(err, io.EOF) {
			r.reachEnd()
			break
		}
		if err != nil {
			failed = fmt.Errorf("history: %w", err)
			break
		}
		if !r.o.Until.IsZero() && txn.Time.After(r.o.Until) {
			break
		}
		if !r.applyTxn(txn) {
			break
		}
	}
	if !r.began {
		r.sum.Last.Zxid = max(r.sum.Last.Zxid, r.start.exact)
		r.beginState(r.sum.Last)
	}
	if r.herds != nil {
		r.herds.end()
	}
	if r.o.steps == nil { // which know of the stays that last
		for _, s := range r.stays.rest() {
			r.o.Ended(s)
		}
	}
	return r.sum, failed
}

// reachEnd notes that a recording may go on after its last change.
func (r *Reader) reachEnd() {
	if src, ok := r.source.(*ahead); ok && src.src.Reached().After(r.sum.Last.Time) {
		r.sum.Last = Moment{Time: src.src.Reached()}
	}
}

// beginBefore makes the first state, unless the state needs a transaction to be exact.
func (r *Reader) beginBefore(txn *txnlog.Txn) {
	if r.began || txn.Zxid <= r.start.exact {
		return
	}
	at := Moment{txn.Time, r.start.exact}
	if r.sum.Transactions > 0 {
		at.Time = r.sum.Last.Time
	}
	r.beginState(at)
}

// applyTxn applies a transaction, unless the reading ends before it.
func (r *Reader) applyTxn(txn *txnlog.Txn) bool {
	r.beginBefore(txn)
	if r.began && r.o.steps != nil && !r.o.steps.before(txn) {
		return false
	}
	at := Moment{txn.Time, txn.Zxid}
	r.sum.Last = at
	r.sum.Transactions++
	if r.breaks != nil {
		r.breaks.apply(txn)
	}
	if r.herds != nil {
		r.herds.apply(txn)
	}
	changed := r.tree.apply(txn)
	if !r.began {
		return true
	}
	if len(changed) > 0 {
		r.sum.Changes++
		if r.know.IsDue(txn.Time) || !r.lines.apply(changed, at, txn) {
			r.lines.settle(changed)
			r.step(r.know.Update(changed, recognize.Past{}, txn.Time), at, txn)
		}
		r.lines.now = txn.Time
	}
	if r.o.steps != nil {
		r.o.steps.after(changed, r.tree.fresh)
	}
	return true
}

// beginState makes the first state.
func (r *Reader) beginState(at Moment) {
	r.began, r.sum.First, r.lines.now = true, at, at.Time
	nodes := r.know.Replace(valuesInOrder(r.tree.nodes), recognize.Past{}, at.Time)
	r.step(nodes, at, nil)
	if r.o.steps != nil {
		r.o.steps.begin(at, r.tree.nodes, r.stays.open)
	}
}

func valuesInOrder(nodes map[string]*recognize.Node) iter.Seq[*recognize.Node] {
	return func(yield func(*recognize.Node) bool) {
		for _, path := range slices.Sorted(maps.Keys(nodes)) {
			if !yield(nodes[path]) {
				return
			}
		}
	}
}

func (r *Reader) step(d recognize.Delta, at Moment, txn *txnlog.Txn) {
	r.stays.step(d, r.tree, at, txn)
	r.lines.follow(d)
	if r.o.Thing != nil {
		for _, t := range d.Come {
			r.o.Thing(t, at)
		}
	}
}
