package znodecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// window is how many requests of a walk are in flight at a time: enough that
// the round trip does not count, and few enough that answers of a megabyte each
// do not fill the memory.
const window = 128

// previewed is how many bytes of data are kept for a preview.
const previewed = 256

// leaf is a znode of a tree.
type leaf struct {
	path     string
	data     []byte
	stat     session.Stat
	gone     bool  // deleted before it was read
	err      error // why the znode cannot be read
	children []*leaf
}

// name is the last element of the path.
func (l *leaf) name() string { return znode.Base(l.path) }

// walker reads a tree, level by level: first the znodes of a level, then the
// lists of the znodes with children. So a tree costs a request for each znode
// and another for each inner znode, and two round trips for each level.
type walker struct {
	client   *session.Client
	session  *session.Session
	keep     int // bytes of data; 0: all
	progress *progress
	alive    func() // to be called when an answer has come
}

// walk reads a tree.
func (a *app) walk(ctx context.Context, client *session.Client, v treeView) (*leaf, error) {
	// A big tree takes its time: --connect-timeout bounds a single answer.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(a.Flags.ConnectTimeout, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	w := &walker{client: client, keep: previewed, progress: newProgress(a.Stderr)}
	if v.data {
		w.keep = 0
	}
	w.alive = func() { late.Reset(a.Flags.ConnectTimeout) }
	defer w.progress.clear()
	var err error
	if w.session, err = client.ReadSession(ctx); err != nil {
		return nil, err
	}
	root := &leaf{path: v.path}
	if err := w.levels(ctx, root, v.depth); err != nil {
		return nil, err
	}
	switch {
	case root.gone:
		return nil, a.absent(v.path)
	case root.err != nil:
		return nil, fmt.Errorf("tree %s: %w", v.path, root.err)
	}
	return root, nil
}

// absent is the error for a missing znode.
func (a *app) absent(path string) error {
	f := &exit.Failure{Code: exit.CodeFailed, Err: fmt.Errorf("there is no znode %s: %w", path, session.ErrNoNode)}
	if servers, err := a.ConnectString(); err == nil && strings.Contains(servers, "/") {
		f.Hint = "paths are below the chroot: " + servers
	} else if parent := path[:strings.LastIndexByte(path, '/')]; path != "/" {
		f.Hint = fmt.Sprintf("%q shows the existing znodes", "zkr tree "+cli.OrElse(parent, "/")+" --depth 1")
	}
	return f
}

// levels reads root and everything below.
func (w *walker) levels(ctx context.Context, root *leaf, depth int) error {
	level := []*leaf{root}
	for n := 0; len(level) > 0; n++ {
		if err := w.read(ctx, level); err != nil {
			return err
		}
		if depth > 0 && n == depth {
			return nil
		}
		parents := slices.DeleteFunc(level, func(l *leaf) bool { return l.stat.NumChildren == 0 })
		if err := w.list(ctx, parents); err != nil {
			return err
		}
		level = nil
		for _, l := range parents {
			level = append(level, l.children...)
		}
	}
	return nil
}

// read reads data and stat of znodes, and takes deleted znodes out of their
// parents.
func (w *walker) read(ctx context.Context, level []*leaf) error {
	return w.each(ctx, level, func(s *session.Session, l *leaf) *session.Future[session.Seen] {
		return s.StartGet(l.path, false)
	}, func(l *leaf, seen session.Seen) {
		l.stat, l.data = seen.Stat, seen.Data
		if w.keep > 0 && len(l.data) > w.keep {
			l.data = slices.Clone(l.data[:w.keep]) // and lets go of the rest
		}
		w.progress.one()
	})
}

// list lists the children of znodes, by name.
func (w *walker) list(ctx context.Context, parents []*leaf) error {
	return w.each(ctx, parents, func(s *session.Session, l *leaf) *session.Future[session.Seen] {
		return s.StartChildren(l.path, false)
	}, func(l *leaf, seen session.Seen) {
		slices.Sort(seen.Children)
		l.children = make([]*leaf, len(seen.Children))
		for i, name := range seen.Children {
			l.children[i] = &leaf{path: strings.TrimSuffix(l.path, "/") + "/" + name}
		}
	})
}

// each sends a request for each znode, a window ahead of the answers.
func (w *walker) each(ctx context.Context, all []*leaf,
	start func(*session.Session, *leaf) *session.Future[session.Seen], take func(*leaf, session.Seen),
) error {
	sent := make([]*session.Future[session.Seen], 0, window)
	for i, l := range all {
		for next := i + len(sent); len(sent) < window && next < len(all); next++ {
			sent = append(sent, start(w.session, all[next]))
		}
		seen, err := sent[0].Wait(ctx)
		sent = append(sent[:0], sent[1:]...)
		for again(err) && ctx.Err() == nil {
			seen, err = w.again(ctx, l, start)
		}
		w.alive()
		switch {
		case err == nil:
			take(l, seen)
		case errors.Is(err, session.ErrNoNode):
			l.gone = true
		case errors.Is(err, session.ErrNoAuth):
			l.err = err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		default:
			return err
		}
	}
	return nil
}

// again reports whether a read failed for its connection or session alone.
func again(err error) bool {
	return session.IsSessionLoss(err) || session.NotSent(err) || session.Unanswered(err)
}

// again reads once more, when there is a connection, in the next session if
// need be.
func (w *walker) again(ctx context.Context, l *leaf, start func(*session.Session, *leaf) *session.Future[session.Seen]) (session.Seen, error) {
	var err error
	if w.session, err = w.client.ReadSession(ctx); err != nil {
		return session.Seen{}, err
	}
	if !w.session.ReadOnly() { // which refuses a sync
		if err := w.session.Sync(ctx, l.path); err != nil {
			return session.Seen{}, err
		}
	}
	return start(w.session, l).Wait(ctx)
}

// progress shows the progress of a long walk on a terminal.
type progress struct {
	out  *os.File // nil: no terminal
	n    int
	next time.Time
	some bool // a line is shown
}

// How soon, and how often, progress shows.
const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

func newProgress(out *os.File) *progress {
	p := &progress{next: time.Now().Add(progressAfter)}
	if cli.IsTerminal(out) {
		p.out = out
	}
	return p
}

// one counts a znode.
func (p *progress) one() {
	if p.n++; p.n%64 == 0 {
		p.reach(p.n)
	}
}

// reach shows that n znodes were handled.
func (p *progress) reach(n int) {
	if p.n = n; p.out == nil || time.Now().Before(p.next) {
		return
	}
	p.next, p.some = time.Now().Add(progressEvery), true
	fmt.Fprintf(p.out, "\r%d znodes", p.n)
}

// clear clears the line.
func (p *progress) clear() {
	if p.some {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
