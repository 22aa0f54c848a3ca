package observing

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is what the types that stand for something held have in common.
type Held interface {
	Context() context.Context
	Token() int64
	Session() *session.Session
	Path() string
}

// Znode is a Held of one znode of a session.
type Znode struct {
	*session.Hold
	Czxid int64
}

// Token is the czxid.
func (z Znode) Token() int64 { return z.Czxid }

// Hold is a hold in progress.
type Hold struct {
	to   observe.Observer
	ctx  context.Context // the values of the ctx with which the hold began
	hold observe.Hold
	stop func() bool // ends the waiting for a loss

	once  sync.Once // of the report of the end
	ended time.Time // when the giving back began
	end   observe.End
}

// BeginHold reports that the hold h begins, which no wait has preceded.
func BeginHold(ctx context.Context, c *session.Client, kind observe.Kind, path string, h Held) *Hold {
	to := c.Observer()
	if to == nil {
		return nil
	}
	return beginHold(ctx, to, h, observe.Hold{Kind: kind, Path: path})
}

func beginHold(ctx context.Context, to observe.Observer, held Held, what observe.Hold) *Hold {
	what.ID, what.Begun = newID(), time.Now()
	what.Znode, what.Session, what.Token = held.Path(), held.Session().ID(), held.Token()
	until := held.Context()
	h := &Hold{to: to, ctx: context.WithoutCancel(ctx), hold: what, end: observe.Released}
	to.Observe(ctx, observe.HoldBegun{Hold: what})
	h.stop = context.AfterFunc(until, func() {
		now := time.Now()
		h.report(now, observe.Lost, context.Cause(until), held.Session().TrustedUntil().Sub(now))
	})
	return h
}

// HandedOver says that the giving back in progress is a hand-over in this process.
func (h *Hold) HandedOver() {
	if h != nil {
		h.end = observe.HandedOver
	}
}

// Ending begins the giving back. If the hold was lost before, the loss has been or will
// be reported, and the giving back is not.
func (h *Hold) Ending() {
	if h != nil && h.stop() {
		h.ended = time.Now()
	}
}

// End reports the end of the giving back, with its error. Nothing is reported if the hold
// had been lost.
func (h *Hold) End(err error) {
	if h == nil || h.ended.IsZero() {
		return
	}
	end := h.end
	if errors.Is(err, session.ErrNodeDeleted) {
		end = observe.Lost // the request has found it out
	}
	h.report(h.ended, end, err, 0)
}

func (h *Hold) report(at time.Time, end observe.End, err error, left time.Duration) {
	h.once.Do(func() {
		h.to.Observe(h.ctx, observe.HoldEnded{Hold: h.hold, Took: at.Sub(h.hold.Begun), End: end, Err: err, TrustLeft: left})
	})
}
