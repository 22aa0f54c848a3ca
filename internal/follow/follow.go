// Package follow keeps a caller's view of a small state on the servers up to date: the
// leader, the value of a counter, whether a gate is closed.
package follow

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session"
)

// hiddenPause is how long States waits before it reads a state again that it cannot
// watch.
const hiddenPause = 5 * time.Second

// Read reads the present state, and sets a watch that fires when it may have
// changed. Without a watch, the state is that of a znode that the client may not
// read. Servers do not report changes of such a znode, so States reads again every
// five seconds.
type Read[T any] func(ctx context.Context, s *session.Session) (T, *session.Watch, error)

// ReadSeveral is Read of a state in several znodes, each with a watch. Without watches, the
// client may not read the state.
type ReadSeveral[T any] func(ctx context.Context, s *session.Session) (T, []*session.Watch, error)

// States iterates over the states that read finds, in whatever session client
// has: first the present one, then each newer one that is not the same. States
// that pass while the loop's body runs are skipped, and it never goes back: the
// first read of each session is sent behind a sync of path, so that it is not older
// than the reads of the session before. It runs in the caller's goroutine, and holds
// nothing but the watches of one read.
//
// It ends with ctx, with the client, or with an error that a later try would
// not mend; that is the last element.
//
// A session with a server without a quorum does not show the past either, and refuses a sync.
func States[T any](ctx context.Context, sessions Sessions, path string, read Read[T], same func(a, b T) bool) iter.Seq2[T, error] {
	return StatesOfSeveral(ctx, sessions, path, func(ctx context.Context, s *session.Session) (T, []*session.Watch, error) {
		now, watch, err := read(ctx, s)
		if watch == nil {
			return now, nil, err
		}
		return now, []*session.Watch{watch}, err
	}, same)
}

// StatesOfSeveral is States of a state in several znodes.
func StatesOfSeveral[T any](ctx context.Context, sessions Sessions, path string, read ReadSeveral[T], same func(a, b T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		f := follower[T]{sessions: sessions, path: path, read: read}
		defer func() { stopAll(f.watches) }() // however the loop's body is left: it may panic
		var last T
		for first := true; ; {
			now, err := f.nextState(ctx)
			if err != nil {
				yield(now, err)
				return
			}
			if first || !same(last, now) {
				if !yield(now, nil) {
					return
				}
				first, last = false, now
			}
			if err := f.awaitChange(ctx); err != nil {
				var none T
				yield(none, err)
				return
			}
		}
	}
}

// Sessions are the sessions to read in.
type Sessions struct {
	Client *session.Client
	// WithoutQuorum: those of [session.Client.ReadSession].
	WithoutQuorum bool
}

// next returns the session to read in, and a context for that.
func (s Sessions) next(ctx context.Context) (*session.Session, context.Context, context.CancelFunc, error) {
	if !s.WithoutQuorum {
		in, err := s.Client.Session(ctx)
		return in, ctx, func() {}, err
	}
	in, err := s.Client.ReadSession(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	reading, stop := s.Client.ReadContext(ctx, in)
	return in, reading, stop, nil
}

// follower reads in one session after the other.
type follower[T any] struct {
	sessions Sessions
	path     string
	read     ReadSeveral[T]
	synced   *session.Session
	watches  []*session.Watch // of the latest state; nil before the first
}

func stopAll(watches []*session.Watch) {
	for _, w := range watches {
		w.Stop()
	}
}

// awaitChange waits until the state may have changed.
func (f *follower[T]) awaitChange(ctx context.Context) error {
	if len(f.watches) > 0 {
		return AwaitAny(ctx, f.watches)
	}
	timer := time.NewTimer(hiddenPause)
	defer timer.Stop()
	select {
	case <-timer.C: // in a session that is over, the next read asks for another one
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AwaitAny waits until one of the watches, of which there is at least one, fires.
func AwaitAny(ctx context.Context, watches []*session.Watch) error {
	fired := make(chan struct{})
	fire := sync.OnceFunc(func() { close(fired) })
	for _, w := range watches {
		w.OnFire(func(session.Event) { fire() })
	}
	if await.Closed(ctx, fired) == nil {
		return nil
	}
	_, err := watches[0].Wait(ctx) // the error of a wait that ctx ends
	return err
}

func (f *follower[T]) nextState(ctx context.Context) (T, error) {
	for {
		s, reading, stop, err := f.sessions.next(ctx)
		if err != nil {
			var none T
			return none, err
		}
		now, watches, err := f.readIn(reading, s)
		if session.NotSent(err) || session.Unanswered(err) {
			// The sync got no answer; the read waited for a connection.
			if over := f.awaitConnected(reading, s); over != nil {
				err = over
			}
		}
		moved := reading.Err() != nil && ctx.Err() == nil
		stop()
		switch {
		case err == nil:
			// The former watches end behind the new ones, so that a watch of the same znode
			// costs no request.
			former := f.watches
			f.synced, f.watches = s, watches
			stopAll(former)
			return now, nil
		case ctx.Err() != nil:
			return now, err
		case moved, session.IsSessionLoss(err), session.NotSent(err), session.Unanswered(err):
			// Again, in the next session if there is one.
		default:
			return now, err
		}
	}
}

// readIn reads in s; the first time behind a sync.
func (f *follower[T]) readIn(ctx context.Context, s *session.Session) (T, []*session.Watch, error) {
	var sync *session.Future[struct{}]
	if s != f.synced && !s.ReadOnly() {
		sync = s.StartSync(f.path)
	}
	now, watches, err := f.read(ctx, s)
	if sync != nil && err == nil {
		if _, err = sync.Wait(ctx); err != nil {
			stopAll(watches)
		}
	}
	return now, watches, err
}

// awaitConnected waits until s has a connection, so that a failing sync is not
// repeated without pause; it returns nil if the session ends meanwhile.
func (f *follower[T]) awaitConnected(ctx context.Context, s *session.Session) error {
	if err := s.Sync(ctx, f.path); err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}
