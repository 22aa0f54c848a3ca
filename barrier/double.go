package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Double is a barrier with an inside: a number of parties enter together and
// leave together, in any number of rounds.
type Double struct{ m *core }

// NewDouble makes a double barrier for a number of parties on path; see [New].
func NewDouble(client *session.Client, path string, parties int, o *Options) *Double {
	return &Double{newCore(client, kindDouble, path, parties, o)}
}

// Path returns the path argument of [NewDouble].
func (d *Double) Path() string { return d.core().path }

func (d *Double) core() *core { return receiver.OrZero(d).m.orZero("barrier.NewDouble") }

// Enter waits until all parties of the barrier are waiting at the same time and
// no party is inside any more; then all of them get a seat.
//
// The error wraps ErrTooMany if other parties have all seats: one party too many
// exists. A party that has just given up its seat, has lost it, or was canceled
// never gets ErrTooMany, provided that it uses the same Double or has an ID; it
// waits.
//
// ctx bounds the wait, not the stay. When ctx ends, no znode is left behind; if
// the party was let in at that moment, it has left at once. If the session is
// lost during the wait, the place is lost, and Enter continues in the next
// session. The error wraps session.ErrUnknownOutcome if the session was given up
// at the moment of arrival: until the servers have ended the session too, the
// party may still be counted.
func (d *Double) Enter(ctx context.Context) (*Seat, error) {
	const op = "enter"
	if err := d.core().checkCall(ctx); err != nil {
		return nil, failure(ctx, op, d.Path(), err)
	}
	waiting := observing.BeginWait(ctx, d.m.client, observe.Seat, d.m.path)
	seat, err := d.m.enter(ctx, d.m.identity())
	if err != nil {
		err = reportedFailure(ctx, d.m.client, op, d.m.path, err)
		waiting.End(err)
		return nil, err
	}
	seat.end.Observe(waiting.Granted(seat, false))
	return seat, nil
}

// Waiting lists the parties that wait and the parties inside, in the order of
// arrival, as [Barrier.Waiting] does.
func (d *Double) Waiting(ctx context.Context) ([]Party, error) { return d.core().waiting(ctx) }

// enter arrives and waits for a seat, in one session after the other. A seat
// lost before the caller has it does not count: for the other parties of this
// round the party has left.
func (m *core) enter(ctx context.Context, id string) (*Seat, error) {
	for {
		s, err := m.client.Session(ctx)
		if err != nil {
			return nil, err
		}
		v, err := m.arrive(ctx, s, id)
		if v == nil && ctx.Err() == nil && session.IsSessionLoss(err) {
			continue // in the next session
		} else if v == nil {
			return nil, err
		}
		if err == nil {
			var p pass
			if p, err = v.await(ctx); err == nil {
				var seat *Seat
				if seat, err = v.takeSeat(ctx, p); err == nil {
					return seat, nil
				}
			}
		}
		switch {
		case ctx.Err() != nil && v.node.Path != "":
			v.leaveBehind()
			return nil, err
		case errors.Is(err, errGone), errors.Is(err, errUnknownRelease):
		case v.node.Path == "", v.s.Err() != nil:
			// The znode goes with the session, but may stay and count for a while;
			// the next session can delete the znode.
			_, gone := v.deleteNode(ctx)
			if v.mayBeCreatedLate() || gone != nil && errors.Is(err, session.ErrUnknownOutcome) {
				gone = unknown(v, errors.Join(err, gone))
			}
			if gone != nil {
				m.remains(id)
				return nil, gone
			}
		default:
			v.leave(ctx)
			return nil, err
		}
	}
}

// takeSeat makes the seat of v after its release.
func (v *arrival) takeSeat(ctx context.Context, p pass) (*Seat, error) {
	hold, err := v.s.Hold(ctx, v.node.Path, v.own)
	if errors.Is(err, session.ErrNoNode) || err == nil && errors.Is(hold.Err(), session.ErrNodeDeleted) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	return &Seat{m: v.m, hold: hold, id: v.id, seq: v.seq, token: v.node.Stat.Czxid, place: v.place, round: p.round, members: p.members}, nil
}
