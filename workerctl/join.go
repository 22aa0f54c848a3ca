package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Join adds a worker with that identity to the job. ctx bounds the join, not
// the work.
//
// A new identity gets an id, from 0 up without a gap. A known identity gets its
// former id, with a higher incarnation, even while its former process is still
// alive, or seems to be. From this moment on the guard of the former process
// fails, and the former process is told as soon as possible.
//
// Errors wrap ErrOver, or ErrFull if all ids are assigned to other identities;
// nothing is changed then. If ctx ends while the request is in flight, the
// identity may have its id already; a later join under the identity gets that id.
//
// Without a collision, a join takes three requests in two round trips, or five
// in four for an identity that comes back. A join that collides with others
// queues, which takes three more requests, for any number of colliding joins,
// and then retries.
func (j *Job) Join(ctx context.Context, identity Identity) (*Worker, error) {
	j = receiver.OrZero(j)
	const op = "join"
	if err := j.checkCall(ctx); err != nil {
		return nil, wrapError(ctx, op, j.Path(), err)
	}
	identity, err := identity.withDefaults()
	if err != nil {
		return nil, wrapError(ctx, op, j.Path(), err)
	}
	waiting := j.beginWait(ctx, observe.Worker)
	e := &entrance{job: j, identity: identity, claim: session.NewID()}
	// The session may be lost between the transaction and the hold. The worker
	// then comes back in the next session.
	err = j.client.Retry(ctx, func(*session.Session) error { return e.joinAndHold(ctx) })
	if err != nil {
		e.abandonAttempts()
		err = j.reportUnknown(ctx, op, wrapError(ctx, op, j.Path(), err))
		waiting.End(err)
		return nil, err
	}
	e.worker.observed = waiting.Granted(e.worker, false)
	return e.worker, nil
}

// entrance is a call of Join.
type entrance struct {
	job      *Job
	identity Identity
	claim    string // identifies the call's own znodes
	worker   *Worker
	// attempts are the live nodes created, or possibly still to be created.
	attempts []attempt
}

// attempt is an attempt to join: with its session, the member and the token, if known.
type attempt struct {
	s     *session.Session
	m     member
	token int64
}

// scene is the state of the job that a joining worker finds.
type scene struct {
	status status
	// known is the member of the identity; nil if the identity has no id. stored
	// is its znode.
	known  *member
	stored stm.Node
	// live is the live node of known's incarnation, if present.
	live stm.Node
	free []int
}

// joinAndHold joins, and holds the live node.
func (e *entrance) joinAndHold(ctx context.Context) error {
	var last attempt
	results, err := e.job.applyTxn(ctx, func(tx *stm.Tx) (err error) {
		last, err = e.planJoin(tx)
		return err
	})
	if err != nil {
		return err
	}
	if len(results) > 0 {
		last.token = results[0].Stat.Mzxid // all of the transaction has this zxid
	}
	return e.holdLive(ctx, last)
}

// abandonAttempts deletes, in the background, the live nodes of a call that has failed:
// after their creations. No other node ever has their names.
func (e *entrance) abandonAttempts() {
	for _, a := range e.attempts {
		optimistic.DeleteLater(a.s, e.job.run.livePath(a.m))
	}
}

// planJoin plans one attempt to join, or recognizes an earlier one.
func (e *entrance) planJoin(tx *stm.Tx) (attempt, error) {
	sc, err := e.readScene(tx)
	if err != nil {
		return attempt{}, err
	}
	if sc.known != nil && sc.known.Claim == e.claim && sc.live.Exists && sc.live.Stat.EphemeralOwner == tx.Session().ID() {
		return attempt{tx.Session(), *sc.known, sc.live.Stat.Czxid}, nil // a reply was lost
	}
	a := attempt{s: tx.Session()}
	if sc.known != nil {
		a.m, err = e.comeBack(tx, sc)
	} else {
		a.m, err = e.joinNew(tx, sc)
	}
	if err == nil {
		e.attempts = append(e.attempts, a)
	}
	return a, err
}

// readScene reads the status, and the id, member and live node of the identity.
func (e *entrance) readScene(tx *stm.Tx) (sc scene, err error) {
	run := e.job.run
	st, others, err := e.job.readStatus(tx, run.identityPath(e.identity.Name))
	if err != nil {
		return sc, err
	}
	sc.status = st
	switch {
	case others[0].Exists:
		return sc, e.readMember(tx, &sc, string(others[0].Data))
	case e.job.record.ReuseIDs && st.Left > 0:
		dir, names, err := tx.PeekChildren(run.at(jobformat.DirFree))
		switch {
		case err != nil:
			return sc, err
		case !dir.Exists:
			return sc, errMisfit // usually the job is over, and being removed
		}
		sc.setFree(names)
	}
	return sc, nil
}

// setFree notes the free ids. Any other name is foreign, or an id assigned
// after the status was read. In the latter case the transaction fails.
func (sc *scene) setFree(names []string) {
	for _, name := range names {
		if id, err := parseID(name); err == nil && id < sc.status.Next {
			sc.free = append(sc.free, id)
		}
	}
}

// readMember reads the member with this id, and its live node.
func (e *entrance) readMember(tx *stm.Tx, sc *scene, id string) error {
	n, err := parseID(id)
	if err != nil {
		return spoiledError(e.job.run.identityPath(e.identity.Name), err)
	}
	sc.known, sc.stored, err = e.job.readMember(tx, n)
	switch {
	case err != nil:
		return err
	case sc.known == nil:
		return errMisfit
	}
	nodes, err := tx.Peek(e.job.run.livePath(*sc.known))
	if err == nil {
		sc.live = nodes[0]
	}
	return err
}

// joinNew assigns an id to a new identity. The first operation sets the status:
// its zxid is the transaction's.
func (e *entrance) joinNew(tx *stm.Tx, sc scene) (m member, err error) {
	j, run := e.job, e.job.run
	id, next, old, stored, err := e.chooseID(tx, sc)
	if err != nil {
		return m, err
	}
	m = newSuccessor(old, id, e.claim, e.identity)
	err = j.setStatus(tx, next)
	if old != nil {
		err = errors.Join(err, tx.Depend(stored), tx.Set(stored.Path, encode(m)), tx.Delete(run.freePath(id)))
	} else {
		err = errors.Join(err, j.createNode(tx, run.memberPath(id), encode(m)))
	}
	err = errors.Join(err, j.createNode(tx, run.identityPath(e.identity.Name), []byte(strconv.Itoa(id))))
	if old == nil && next.isFull() {
		err = errors.Join(err, j.createNode(tx, run.at(jobformat.NodeFull), nil))
	}
	return m, errors.Join(err, e.createLive(tx, m))
}

func (e *entrance) createLive(tx *stm.Tx, m member) error {
	return tx.Create(e.job.run.livePath(m), encode(m), session.Ephemeral, e.job.opts.createOptions())
}

// chooseID chooses an id, and returns its former member, or nil if the id was
// never assigned.
func (e *entrance) chooseID(tx *stm.Tx, sc scene) (id int, next status, old *member, stored stm.Node, err error) {
	for free := sc.free; ; {
		id, next, err = sc.status.assignID(e.job.record.ReuseIDs, free)
		switch {
		case errors.Is(err, ErrFull) && e.job.record.ReuseIDs && sc.status.Left > 0:
			return 0, next, nil, stored, errMisfit // an id is free
		case err != nil || id == sc.status.Next:
			return id, next, nil, stored, err
		}
		old, stored, err = e.job.readMember(tx, id)
		switch {
		case err != nil:
			return 0, next, nil, stored, err
		case old != nil && old.Left:
			return id, next.reuseID(*old), old, stored, nil
		}
		// The id is taken: assigned after the status was read, or marked as free
		// by a foreign program.
		free = slices.DeleteFunc(slices.Clone(free), func(n int) bool { return n == id })
	}
}

// comeBack takes the id of the identity over from its former process.
func (e *entrance) comeBack(tx *stm.Tx, sc scene) (m member, err error) {
	next, err := sc.status.comeBack(*sc.known)
	if err != nil {
		return m, err
	}
	if sc.known.Name != e.identity.Name {
		return m, fmt.Errorf("%w: id %d is that of %q", ErrRecord, sc.known.ID, sc.known.Name)
	}
	m = newSuccessor(sc.known, sc.known.ID, e.claim, e.identity)
	err = errors.Join(e.job.setStatus(tx, next), tx.Depend(sc.stored), tx.Set(sc.stored.Path, encode(m)))
	if sc.live.Exists { // the live node may go with its session at any time
		err = errors.Join(err, tx.Depend(sc.live), tx.Delete(sc.live.Path))
	}
	return m, errors.Join(err, e.createLive(tx, m))
}

// holdLive holds the created live node.
func (e *entrance) holdLive(ctx context.Context, a attempt) error {
	h, err := a.s.Hold(ctx, e.job.run.livePath(a.m), nil)
	switch {
	case err == nil:
		e.worker = newWorker(e.job, h, a.m, a.token)
		return nil
	case a.s.Err() == nil && errors.Is(err, session.ErrNoNode):
		// The worker's next process came at once, or the job was killed.
		return fmt.Errorf("the worker is %w: %w", session.ErrLost, session.ErrNodeDeleted)
	}
	return err
}
