package election

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/standing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Candidacy is a place in the queue of an election, bound to one session. Give it
// up with Withdraw, or with [Leadership.Resign] after a win.
type Candidacy struct {
	e     *Elector
	place *standing.Place[Leadership]
}

// enqueueCandidate queues up at the server, in the next session if one is lost on the way.
func (e *Elector) enqueueCandidate(ctx context.Context) (*Candidacy, error) {
	name, err := e.opts.Layout.newName()
	if err != nil {
		return nil, err
	}
	queue := contender.Spec{
		Dir: e.path, Name: name, Markers: lockformat.ElectionMarkers(), Data: e.opts.Data, ACL: e.opts.ACL, Rule: contender.Exclusive,
		Lasting: e.opts.Layout == Kazoo, Room: e.room, Rank: e.rank(),
	}
	if queue.Rank != nil {
		queue.Room = nil // few candidates with a priority are in the queue
	}
	place, err := standing.Take(ctx, standing.Recipe[Leadership]{
		Client: e.client, Kind: observe.Leadership, Path: e.path, Withdrawn: ErrWithdrawn, Failure: failure,
		Hold: e.lead, Begin: (*Leadership).reportBegin,
		GiveBack: func(ctx context.Context, l *Leadership) (bool, error) {
			return l.end.Settle(l.Resign(ctx), ErrNotLeader)
		},
	}, queue)
	if err != nil {
		return nil, err
	}
	return &Candidacy{e: e, place: place}, nil
}

// lead makes the leadership of a candidate whose turn has come.
func (e *Elector) lead(ctx context.Context, c *contender.Contender, waiting *observing.Wait) (*Leadership, error) {
	hold, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return newLeadership(e, hold, c.Node().Stat.Czxid, waiting), nil
}

// mustPlace is the place in the queue; a zero Candidacy has none.
func (k *Candidacy) mustPlace() *standing.Place[Leadership] {
	holding.MustBeMade(k != nil && k.place != nil, "election.Candidacy", "election.Elector.Stand")
	return k.place
}

// checkCall is the first check of all methods with a context.
func (k *Candidacy) checkCall(ctx context.Context, op string) error {
	if err := holding.BeginHeld(ctx, k.place != nil, "election.Candidacy", "election.Elector.Stand", ErrInvalidArgument); err != nil {
		return k.e.failure(ctx, op, err)
	}
	return nil
}

// Path returns the path of the candidate's znode. It changes when the candidate moves to
// "<path>.waiting" and back: see [Options.MaxQueue].
func (k *Candidacy) Path() string { return k.mustPlace().Contender().Node().Path }

// Session returns the session of the candidacy.
func (k *Candidacy) Session() *session.Session { return k.mustPlace().Contender().Session() }

// Watching returns the name of the predecessor that this candidate watches at
// present. The name is "" before the first Await, while the candidate leads, and
// after the candidacy has ended.
func (k *Candidacy) Watching() string { return k.mustPlace().Watching() }

// Ahead returns the number of candidates ahead in the queue, as of one moment during the
// call; 0 for a candidate that leads, or is about to. Ahead lists the queue with one
// request. For a candidate that waits in "<path>.waiting", or has a priority, it also reads the
// znodes of all candidates. If the place is lost, the error wraps session.ErrLost; after Withdraw it
// wraps ErrWithdrawn.
func (k *Candidacy) Ahead(ctx context.Context) (int, error) {
	k = receiver.OrZero(k)
	if err := k.checkCall(ctx, "look ahead"); err != nil {
		return 0, err
	}
	return k.place.Ahead(ctx)
}

// Await waits until the candidate leads. If ctx ends first, the place in the
// queue stays, and Await can be called again. Once the candidate leads, and until
// Withdraw, every call returns the same leadership, even if the leadership was
// lost.
//
// Each call that waits is a wait of its own for an observer of the client. The observer must
// not withdraw the candidacy while it receives an observe.WaitQueued of that wait.
//
// If the place is lost, with its session or because its znode was deleted, the
// error wraps session.ErrLost: stand again. After Withdraw the error wraps
// ErrWithdrawn.
func (k *Candidacy) Await(ctx context.Context) (*Leadership, error) {
	k = receiver.OrZero(k)
	if err := k.checkCall(ctx, "await"); err != nil {
		return nil, err
	}
	return k.place.Await(ctx)
}

// Withdraw leaves the election: it gives up the place in the queue, and the
// leadership if the candidate leads. An Await in progress ends. If Withdraw
// returns nil, the znode is gone; if ctx ends first, the deletion continues in
// the background until the znode or the session is gone. If the session is lost,
// or the leadership was lost before, the error wraps session.ErrLost. A second
// call returns the same error, or ErrWithdrawn.
func (k *Candidacy) Withdraw(ctx context.Context) error {
	k = receiver.OrZero(k)
	if err := k.checkCall(ctx, "withdraw"); err != nil {
		return err
	}
	return k.place.Withdraw(ctx)
}
