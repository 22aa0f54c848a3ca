package workerctl

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitFault waits until a worker has died or failed, and returns a MissingError with this
// worker. It lists the running workers once; then a recursive watch reports each worker
// whose live znode has gone, and awaitFault reads the members of these.
func (j *Job) awaitFault(ctx context.Context) error {
	return retryConflicts(ctx, j.client, func(s *session.Session) error {
		gone := &goneWorkers{dir: j.run.at(jobformat.DirLive), ids: map[int]bool{}, wake: make(chan struct{}, 1)}
		sub, err := s.Subscribe(ctx, gone.dir, true, gone.onEvent)
		switch {
		case errors.Is(err, session.ErrUnsupported), errors.Is(err, session.ErrInvalidOption):
			gone = nil
		case err != nil:
			return err
		default:
			defer sub.Stop()
		}
		// The list is read first: a later change of the list is reported, and an earlier
		// change shows in the status.
		r := newReading(ctx, s)
		r.Sync(j.run.statePath())
		live := s.StartChildren(j.run.at(jobformat.DirLive), gone == nil)
		defer optimistic.StopWatch(live)
		st, _ := r.readStatus(j)
		here, there := r.IfThere(live)
		if r.Err == nil && !there {
			if err := j.restoreDeleted(ctx); err != nil {
				return err
			}
			return optimistic.ErrChanged
		}
		if r.Err != nil {
			return r.Err
		}
		if err := j.faultError(ctx, st, here.Children); err != nil {
			return err
		}
		if gone == nil {
			return firstOf(ctx, here.Watch)
		}
		return j.awaitFaulty(ctx, s, gone)
	})
}

// awaitFaulty waits until one of the workers that go has died or failed.
func (j *Job) awaitFaulty(ctx context.Context, s *session.Session, gone *goneWorkers) error {
	for {
		select {
		case <-gone.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		ids, again := gone.takeIDs()
		if again {
			return optimistic.ErrNews
		}
		for chunk := range slices.Chunk(ids, together) {
			r := newReading(ctx, s)
			faulty := len(chunk)
			for _, one := range r.readRecords(j, chunk) {
				if one.record.Left && !one.record.HasFailed() {
					faulty--
				}
			}
			if r.Err != nil {
				return r.Err
			}
			if faulty > 0 {
				return optimistic.ErrNews // or the worker is back, or is being removed
			}
		}
	}
}

// goneWorkers are the workers whose live znodes have gone.
type goneWorkers struct {
	dir  string
	wake chan struct{} // cap 1

	// mu guards the fields below. again: all is to be read again.
	mu    sync.Mutex
	ids   map[int]bool
	again bool
}

// onEvent takes an event of the watch on the folder live.
func (g *goneWorkers) onEvent(ev session.Event) {
	name, below := strings.CutPrefix(ev.Path, g.dir+"/")
	id, ok := liveID(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !below:
		g.again = true // the connection, or the folder itself
	case ok && ev.Type == session.EventDeleted:
		g.ids[id] = true
	default:
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *goneWorkers) takeIDs() (ids []int, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id := range g.ids {
		ids = append(ids, id)
	}
	again = g.again
	clear(g.ids)
	g.again = false
	slices.Sort(ids)
	return ids, again
}

// faultError is a MissingError if a worker without a znode among live has died or failed.
func (j *Job) faultError(ctx context.Context, st status, live []string) error {
	running := map[string]bool{}
	for _, name := range live {
		id, _, _ := strings.Cut(name, "-")
		running[id] = true
	}
	ids := slices.DeleteFunc(idsFrom(0, st.Next), func(id int) bool { return running[strconv.Itoa(id)] })
	if len(ids) <= st.Left && st.Failed == 0 {
		return nil
	}
	e := &MissingError{IDs: ids, Workers: st.Workers, Reason: errFaulty}
	if err := j.classifyMissing(ctx, e); err != nil {
		return err
	}
	e.IDs, e.Left = slices.Concat(e.Dead, e.Failed), nil
	slices.Sort(e.IDs)
	if len(e.IDs) == 0 {
		return nil
	}
	return e
}
