package node

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/session"
)

// touchesPerTTL is how often a TTL znode is refreshed in its TTL: a refresh that is lost
// with its connection leaves time for another one. Curator refreshes twice.
const touchesPerTTL = 3

// longestRetry is how long a failed refresh waits at most before it is repeated: a quarter
// of the usual interval may be months.
const longestRetry = 5 * time.Second

// toucher refreshes the TTL of a kept znode, by writing its child. It does not write the
// znode itself, since every write wakes the clients that watch the znode.
type toucher struct {
	client     *session.Client
	registrant *keeping.Registrant
	ttl        time.Duration
	acl        []session.ACL
	end        context.CancelFunc
	over       chan struct{} // closed when run has returned
}

func newToucher(n *Node, k *keeping.Registrant) *toucher {
	return &toucher{client: n.client, registrant: k, ttl: n.opts.TTL, acl: n.opts.ACL, over: make(chan struct{})}
}

// start makes the child, within ctx, and then keeps it until stop.
func (t *toucher) start(ctx context.Context) error {
	for {
		err := t.touch(ctx)
		if err == nil {
			break
		}
		if !errors.Is(err, session.ErrNoNode) {
			return err
		}
		if !t.pause(ctx, t.retryPause()) { // another client has deleted the znode
			return t.reasonToEnd(ctx)
		}
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	t.end = end
	// Waited for by stop; ends with stop, or with the client.
	go t.run(life)
	return nil
}

// reasonToEnd is why pause has ended early.
func (t *toucher) reasonToEnd(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.registrant.State().Err
}

// stop ends the refreshing. A request in flight may still be carried out. A nil toucher
// does nothing.
func (t *toucher) stop() {
	if t == nil {
		return
	}
	t.end()
	<-t.over
}

// run refreshes the child until ctx ends, or the client is closed.
func (t *toucher) run(ctx context.Context) {
	defer close(t.over)
	for pause := t.interval(); t.pause(ctx, pause); {
		err := t.touch(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, session.ErrClosed):
			return
		case err == nil, errors.Is(err, session.ErrNoNode): // the registrant creates it, or says why not
			t.registrant.SetTrouble(nil)
		default:
			t.registrant.SetTrouble(explain(err))
		}
		if pause = t.interval(); err != nil {
			pause = t.retryPause()
		}
	}
}

// interval is the time between two refreshes.
func (t *toucher) interval() time.Duration { return t.ttl / touchesPerTTL }

// retryPause is the time after a refresh that has failed.
func (t *toucher) retryPause() time.Duration { return min(t.interval()/4, longestRetry) }

// touch writes the child, or creates it. Both may be repeated: a refresh that is carried
// out twice is a refresh. It fails with ErrNoNode if the znode itself does not exist.
func (t *toucher) touch(ctx context.Context) error {
	return t.client.Retry(ctx, func(s *session.Session) error {
		path := touchPath(t.registrant.State().Path)
		_, err := s.Set(ctx, path, nil, -1)
		if !errors.Is(err, session.ErrNoNode) {
			return err
		}
		_, err = s.Create(ctx, path, nil, session.PersistentTTL, &session.CreateOptions{TTL: t.ttl, ACL: t.acl})
		if errors.Is(err, session.ErrNodeExists) {
			return nil // another keeper has just created it
		}
		return err
	})
}

// pause waits for d, and reports whether the refreshing goes on.
func (t *toucher) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-t.registrant.Over(): // with the client
		return false
	}
}
