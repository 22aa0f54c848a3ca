package ui

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

const (
	// keptViews is how many views of the past are kept: that of a page is asked for again by
	// the stream of the page.
	keptViews = 2
	// progressed is the time between two messages about the progress of the first reading.
	progressed = 500 * time.Millisecond
)

// Past is the content of pages about the past: of any moment in a history.
type Past struct {
	hub     web.Hub
	archive *history.Archive
	files   []string

	// mu guards the fields below: views are the last ones, the newest first, and views that
	// are being made are in flights, by their marks.
	mu      sync.Mutex
	views   []*View
	flights map[history.Mark]*flight
}

// flight is a view that is being made for one or several requests.
type flight struct {
	done    chan struct{} // closed when view and err are set
	view    *View
	err     error
	waiting int // requests; guarded by Past.mu
	cancel  context.CancelFunc
}

// Moment is what a view of the past has beside the things.
type Moment struct {
	// At is the text of the mark in links.
	At string
	// Files are the names of the servers, or of the recording.
	Files []string
	// Read is how much of the files has been read, in percent. Until everything has been read,
	// the fields below are zero.
	Read     int
	Overview history.Overview
	// State is nil if it could not be found, for the reason Failed.
	State  *history.State
	Failed error
}

// NewPast makes the content of an archive. Run starts the work.
func NewPast(archive *history.Archive, files []string) *Past {
	return &Past{archive: archive, files: files, flights: map[history.Mark]*flight{}}
}

// Run reads the archive, and then waits until ctx ends. The error is that of history.Archive.Read,
// or the cause of the end of ctx.
func (p *Past) Run(ctx context.Context) error {
	read := make(chan error, 1)
	// Waited for below; ends with ctx, or when everything has been read.
	go func() { read <- p.archive.Read(ctx) }()
	tick := time.NewTicker(progressed)
	defer tick.Stop()
	for {
		p.hub.Publish()
		select {
		case <-tick.C:
		case err := <-read:
			if err != nil {
				return err
			}
			p.hub.Publish()
			<-ctx.Done()
			return context.Cause(ctx)
		}
	}
}

func (p *Past) changes() *web.Hub { return &p.hub }

func (p *Past) top() string { return p.archive.Root() }

// canonical is the text of the mark that a request names, or why it names none.
func (p *Past) canonical(at string) (string, error) {
	if at == "" {
		return "", nil
	}
	m, err := history.ParseMark(at, time.Now().Truncate(time.Second))
	return m.String(), err
}

// viewAt returns the view of a mark, or of the last known state. The error is the cause of the
// end of ctx.
func (p *Past) viewAt(ctx context.Context, at string) (*View, error) {
	o, read := p.archive.Overview()
	if !read {
		return p.reading(at), nil
	}
	m := o.LastMark
	if at != "" {
		var err error
		if m, err = history.ParseMark(at, time.Now()); err != nil {
			return p.failed(o.LastMark, o, err), nil
		}
	}
	f := p.join(ctx, m, o)
	defer p.leave(m, f)
	select {
	case <-f.done:
		return f.view, f.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join begins to wait for a view.
func (p *Past) join(ctx context.Context, m history.Mark, o history.Overview) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.flights[m]
	if f == nil {
		f = &flight{done: make(chan struct{}), cancel: func() {}}
		p.flights[m] = f
		if i := slices.IndexFunc(p.views, func(v *View) bool { return v.Moment.At == m.String() }); i >= 0 {
			f.view = p.views[i]
			close(f.done)
		} else {
			// The view belongs to all requests that wait for it.
			ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
			// Not waited for; ends soon after the last request has left.
			go p.fly(ctx, f, m, o)
		}
	}
	f.waiting++
	return f
}

// leave ends the waiting for a view.
func (p *Past) leave(m history.Mark, f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.cancel()
		delete(p.flights, m)
	}
}

// fly makes a view.
func (p *Past) fly(ctx context.Context, f *flight, m history.Mark, o history.Overview) {
	defer close(f.done)
	state, err := p.archive.State(ctx, m)
	switch {
	case ctx.Err() != nil:
		f.err = context.Cause(ctx)
		return
	case err != nil:
		f.view = p.failed(m, o, err)
		return
	}
	f.view = p.newView(m.String())
	f.view.World, f.view.At = state.World, state.Now
	_, f.view.Exists = state.Lookup(f.view.Root)
	f.view.Moment.Overview, f.view.Moment.State = o, state
	p.mu.Lock()
	defer p.mu.Unlock()
	p.views = append([]*View{f.view}, p.views[:min(len(p.views), keptViews-1)]...)
}

// newView makes a view without things.
func (p *Past) newView(at string) *View {
	return &View{
		World: &recognize.World{}, Root: p.archive.Root(), Health: Health{Loaded: true}, At: time.Now(),
		Moment: &Moment{At: at, Files: p.files, Read: 100},
	}
}

// failed is the view of a state that cannot be found.
func (p *Past) failed(m history.Mark, o history.Overview, err error) *View {
	v := p.newView(m.String())
	v.Moment.Overview, v.Moment.Failed = o, err
	return v
}

// reading is the view until everything has been read.
func (p *Past) reading(at string) *View {
	v := p.newView(at)
	done, total := p.archive.Progress()
	v.Health.Loaded, v.Moment.Read = false, int(100*done/max(1, total))
	return v
}
