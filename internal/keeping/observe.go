package keeping

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// reports are the reports of a registration to the observer: each znode that goes with a
// session is a hold. They belong to the goroutine of the registrar.
type reports struct {
	reported *session.Hold   // the hold that was reported last; nil before, and for a znode without a session
	observed *observing.Hold // the report of reported; nil if there was none
	granted  bool            // the wait of the first call has ended
}

// Register keeps e registered, and reports the wait for the first registration, unless e
// goes with no session.
func (k *Registrant) Register(ctx context.Context, kind observe.Kind, op string, e *Entry) error {
	k.kind, k.observer = kind, k.cfg.Client.Observer()
	if e.Ephemeral() {
		k.waiting = observing.BeginWait(ctx, k.cfg.Client, kind, e.reported())
	}
	err := k.keepRegistered(ctx, e)
	if err != nil {
		err = k.failure(ctx, op, e.Path(), err)
		k.waiting.End(err)
	}
	return err
}

// decideWait reports whether its caller is the first: the registrar, which has registered
// the entry of the first call, or that call, which gives up.
func (k *Registrant) decideWait() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.decided
	k.decided = true
	return first
}

// reportRegistered reports that have is registered, unless that was reported before.
func (t *registrar) reportRegistered(ctx context.Context) {
	k := t.k
	if k.observer == nil || t.hold == t.reported {
		return
	}
	t.reportEnd(nil)
	t.observed.AwaitLoss() // the end comes before the next beginning
	t.observed = nil
	if t.hold == nil {
		t.reported = nil
		return
	}
	first := k.waiting != nil && !t.granted
	t.granted, t.reported = true, t.hold
	held := observing.Znode{Hold: t.hold, Czxid: t.have.czxid}
	if first {
		t.observed = k.waiting.Granted(held, false)
		return
	}
	t.observed = observing.BeginHold(ctx, k.cfg.Client, k.kind, t.have.entry.reported(), held)
}

// reportEnd reports the end of a hold whose giving back has begun, with its error. A loss
// is reported when the hold's context ends, by a goroutine of its own.
func (t *registrar) reportEnd(err error) { t.observed.End(err) }
