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

// Hold is a hold in progress. Its events come in order, one of the beginning and one of the
// end, whichever goroutines cause them. Methods that do not report may be called while a
// mutex is held.
type Hold struct {
	to   observe.Observer
	ctx  context.Context // with which the hold began
	hold observe.Hold
	s    *session.Session

	// mu guards the fields below. Invariant: over is set once, and is reported by the
	// goroutine that has set it, or by Begin if that comes later.
	mu     sync.Mutex
	begun  bool            // the beginning was reported
	until  context.Context // whose end is a loss; nil: none
	stop   func() bool     // ends the waiting for a loss; nil if nothing waits
	ending int             // calls that give the hold back
	ended  time.Time       // when the first of these calls began
	end    observe.End
	over   *observe.HoldEnded

	reported chan struct{} // closed when the end was reported
}

// BeginHold reports that the hold h begins, which no wait has preceded.
func BeginHold(ctx context.Context, c *session.Client, kind observe.Kind, path string, h Held) *Hold {
	out := NewHold(ctx, c, kind, path, h)
	out.Begin()
	return out
}

// NewHold makes a hold that no wait has preceded, without a report: for a recipe whose
// other goroutines may end the hold before Begin. The hold is lost with h's context.
func NewHold(ctx context.Context, c *session.Client, kind observe.Kind, path string, h Held) *Hold {
	to := c.Observer()
	if to == nil {
		return nil
	}
	return newHold(ctx, to, h, observe.Hold{Kind: kind, Path: path})
}

func newHold(ctx context.Context, to observe.Observer, held Held, what observe.Hold) *Hold {
	what.ID, what.Begun = newID(), time.Now()
	what.Znode, what.Session, what.Token = held.Path(), held.Session().ID(), held.Token()
	return &Hold{to: to, ctx: ctx, hold: what, s: held.Session(), until: held.Context(), end: observe.Released, reported: make(chan struct{})}
}

// Begin reports that the hold begins, and its end if the hold has ended before.
func (h *Hold) Begin() {
	if h != nil {
		h.begin()
	}
}

func (h *Hold) begin() {
	h.to.Observe(h.ctx, observe.HoldBegun{Hold: h.hold})
	h.mu.Lock()
	h.begun = true
	over := h.over
	h.awaitLossLocked()
	h.mu.Unlock()
	if over != nil {
		h.reportEnd(*over)
	}
}

// awaitLossLocked has the end of until reported as a loss.
func (h *Hold) awaitLossLocked() {
	if until := h.until; h.begun && h.ending == 0 && h.over == nil && until != nil {
		h.stop = context.AfterFunc(until, func() { h.Lose(context.Cause(until)) })
	}
}

// HandedOver says that the giving back in progress is a hand-over in this process.
func (h *Hold) HandedOver() {
	if h != nil {
		h.setHandedOver()
	}
}

func (h *Hold) setHandedOver() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end = observe.HandedOver
}

// Ending begins the giving back, before the hold's context ends. If the hold was lost
// before, the loss has been or will be reported, and the giving back is not.
func (h *Hold) Ending() {
	if h != nil {
		h.beginEnd()
	}
}

func (h *Hold) beginEnd() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil || h.stop != nil && !h.stop() {
		return
	}
	h.stop = nil
	if h.ending++; h.ending == 1 {
		h.ended = time.Now()
	}
}

// Continue takes Ending back: the call has not given the hold back, which is lost when
// until ends. If another call is giving the hold back, Continue leaves that to the call.
func (h *Hold) Continue(until context.Context) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending > 0 {
		h.until = until
		h.ending--
		h.awaitLossLocked()
	}
}

// NotEnding takes Ending back: another call has given the hold back, and reports its end.
func (h *Hold) NotEnding() {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ending = max(0, h.ending-1)
	}
}

// End reports the end of the giving back, with its error. Nothing is reported if the hold
// had been lost.
func (h *Hold) End(err error) {
	if h != nil {
		h.reportReturn(err)
	}
}

func (h *Hold) reportReturn(err error) { h.endOnce(err)() }

func (h *Hold) endOnce(err error) (report func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending == 0 {
		return reportNothing
	}
	e := observe.HoldEnded{Took: h.ended.Sub(h.hold.Begun), End: h.end, Err: err}
	switch {
	case !errors.Is(err, session.ErrLost):
	case !observe.IsContextEnd(err):
		e.End, e.TrustLeft = observe.Lost, h.trustLeft(err) // the giving back has found it out
	case errors.Is(err, session.ErrTrustRanOut):
		e.End = observe.Unconfirmed // see session.GiveBackContext
	}
	return h.overLocked(e)
}

// trustLeft is the time for which the servers surely keep the session of a hold that was
// lost for the reason err. With a stop margin, the session goes on for that time.
func (h *Hold) trustLeft(err error) time.Duration {
	if !errors.Is(err, session.ErrTrustRanOut) {
		return 0 // the servers, or the client itself, end the session or the hold at once
	}
	return time.Until(h.s.TrustedUntil())
}

func reportNothing() {}

// Lose reports that the hold has ended for the reason err, unless a call gives it back.
func (h *Hold) Lose(err error) {
	if h == nil {
		return
	}
	e := observe.HoldEnded{Took: time.Since(h.hold.Begun), End: observe.Lost, Err: err, TrustLeft: h.trustLeft(err)}
	if errors.Is(err, session.ErrReleased) { // by the owner of what the hold belongs to
		e.End, e.Err, e.TrustLeft = observe.Released, nil, 0
	}
	h.loseOnce(e)()
}

func (h *Hold) loseOnce(e observe.HoldEnded) (report func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ending > 0 {
		return reportNothing
	}
	return h.overLocked(e)
}

func (h *Hold) overLocked(e observe.HoldEnded) (report func()) {
	if h.over != nil {
		return reportNothing
	}
	e.Hold = h.hold
	if h.over = &e; !h.begun {
		return reportNothing
	}
	return func() { h.reportEnd(e) }
}

func (h *Hold) reportEnd(e observe.HoldEnded) {
	h.to.Observe(context.WithoutCancel(h.ctx), e)
	close(h.reported)
}

// AwaitLoss returns when the loss of the hold has been reported, if its context has ended
// and no giving back has begun before. It is for a recipe that takes the hold again.
func (h *Hold) AwaitLoss() {
	if h == nil {
		return
	}
	h.mu.Lock()
	until := h.until
	h.mu.Unlock()
	if until == nil || until.Err() == nil {
		return
	}
	h.Lose(context.Cause(until))
	h.mu.Lock()
	over := h.begun && h.over != nil
	h.mu.Unlock()
	if over {
		<-h.reported
	}
}
