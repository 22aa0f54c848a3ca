package workerctl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Join makes who a worker of the job. ctx bounds the joining, not the work.
//
// A new identity gets an id, from 0 up without a gap. One that is known gets the
// id that it had, with a higher incarnation, also while its former self still
// lives, or seems to: from this moment on the guard of that one fails, and it is
// told as soon as it can be.
//
// Errors wrap ErrOver, or ErrFull if all ids are given to other identities;
// nothing is changed then. If ctx ends while the request is under way the
// identity may have its id already; whoever joins under it later gets that.
//
// Undisturbed it takes four requests in two round trips, for an identity that
// comes back six in four. Who collides with others queues up with them, which
// takes three requests more, however many they are, and tries again.
func (j *Job) Join(ctx context.Context, who Identity) (*Worker, error) {
	const op = "join"
	if ctx.Err() != nil {
		return nil, failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	who, err := who.withDefaults()
	if err != nil {
		return nil, failure(ctx, op, j.Path(), err)
	}
	e := &entrance{job: j, who: who, claim: session.NewID()}
	err = j.inTurn(ctx, func(ctx context.Context, s *session.Session) error { return e.enter(ctx, s) })
	if err != nil {
		e.abandon()
		return nil, failure(ctx, op, j.Path(), err)
	}
	return e.worker, nil
}

// inTurn is persist for a change of the job's status. The first try is made at
// once. After a collision the next are made by one at a time, among those who
// have collided: with n of them all at once, each success would cost the others a
// try, n squared of them in all.
func (j *Job) inTurn(ctx context.Context, f func(ctx context.Context, s *session.Session) error) error {
	collided := false
	err := persist(ctx, j.client, func(s *session.Session) error {
		err := f(ctx, s)
		if err != nil && optimistic.Conflict(err) && ctx.Err() == nil {
			collided = true
			return errCollided
		}
		return err
	})
	if !collided || !errors.Is(err, errCollided) {
		return err
	}
	held, err := j.line.Lock(ctx)
	switch {
	case err == nil:
		// If ctx ends first the deletion goes on by itself; and nothing depends
		// on what became of the lock meanwhile.
		defer func() { _ = held.Unlock(ctx) }()
	case !errors.Is(err, session.ErrNoAuth):
		return err
	}
	// Whoever may not stand in the line does without: what is above it may be
	// that of another job's owner.
	return persist(ctx, j.client, func(s *session.Session) error { return f(ctx, s) })
}

// errCollided: somebody else was faster.
var errCollided = errors.New("somebody else was faster")

// entrance is a call of Join.
type entrance struct {
	job    *Job
	who    Identity
	claim  string // what tells the call's own nodes
	worker *Worker
	doubts []doubt
}

// doubt is a live node that may have come to be, or may still.
type doubt struct {
	s    *session.Session
	path string
}

// scene is what is there when somebody joins.
type scene struct {
	status  status
	version int32
	// known is the member that has the identity's id; nil if it has none.
	known *member
	stat  session.Stat // of known
	// live is the live node of known's incarnation, if there is one.
	live *session.Stat
	free []int
}

// enter tries once to join.
func (e *entrance) enter(ctx context.Context, s *session.Session) error {
	sc, err := e.look(ctx, s)
	if err != nil {
		return err
	}
	if sc.known != nil && sc.known.Claim == e.claim && sc.live != nil && sc.live.EphemeralOwner == s.ID() {
		return e.hold(ctx, s, *sc.known, sc.live.Czxid) // an answer was lost
	}
	m, ops, err := e.plan(ctx, s, sc)
	if err != nil {
		return err
	}
	results, err := s.Txn(ctx, ops...)
	if err != nil {
		if errors.Is(err, session.ErrUnknownOutcome) {
			e.doubts = append(e.doubts, doubt{s, e.job.run.live(m)})
		}
		return err
	}
	return e.hold(ctx, s, m, results[0].Stat.Mzxid)
}

// abandon deletes, in the background, the live nodes of a call that has failed:
// behind their creations, and no other node ever has their names.
func (e *entrance) abandon() {
	for _, d := range e.doubts {
		over, cancel := context.WithCancel(d.s.Context())
		cancel()
		_ = d.s.Discard(over, d.path)
	}
}

// look reads what is there: what says which id the identity has after what says
// which ids are given out. So if the former has a creation of this very call
// whose answer was lost, the latter has it too, and no ErrFull is due to oneself.
func (e *entrance) look(ctx context.Context, s *session.Session) (scene, error) {
	var sc scene
	run, r := e.job.run, newReading(ctx)
	synced, state, own := e.job.sync(s), s.StartGet(run.at(stateNode), false), s.StartGet(run.identity(e.who.Name), false)
	r.Synced(synced)
	sc.status, sc.version = r.status(state)
	id, known := r.IfThere(own)
	switch {
	case r.Err != nil:
		return sc, r.Err
	case known:
		return sc, e.lookAt(ctx, s, &sc, string(id.Data))
	case e.job.record.ReuseIDs && sc.status.Left > 0:
		list, there := r.IfThere(s.StartChildren(run.at(freeDir), false))
		switch {
		case r.Err != nil:
			return sc, r.Err
		case !there:
			return sc, optimistic.ErrChanged // the job is over, and being removed: the status will say so
		}
		sc.setFree(list.Children)
	}
	return sc, nil
}

// setFree notes which ids are free. Whatever else stands there is a stranger's, or
// was given out after the status was read, which fails the transaction.
func (sc *scene) setFree(names []string) {
	for _, name := range names {
		if id, err := parseID(name); err == nil && id < sc.status.Next {
			sc.free = append(sc.free, id)
		}
	}
}

// lookAt reads the member that has the id.
func (e *entrance) lookAt(ctx context.Context, s *session.Session, sc *scene, id string) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	r := newReading(ctx)
	sc.known, sc.stat = r.member(s.StartGet(e.job.run.member(n), false), n)
	if r.Err != nil || sc.known == nil {
		return r.Err // nil: it has just changed, and the transaction will fail
	}
	live := r.Seen(s.StartExists(e.job.run.live(*sc.known), false))
	if live.Exists {
		sc.live = &live.Stat
	}
	return r.Err
}

// plan makes the transaction that joins. Its first operation sets the status:
// it says at which zxid the rest came to be.
func (e *entrance) plan(ctx context.Context, s *session.Session, sc scene) (member, []session.Op, error) {
	if sc.known != nil {
		return e.comeBack(sc)
	}
	run, opts := e.job.run, e.job.opts.create()
	id, next, old, err := e.choose(ctx, s, &sc)
	if err != nil {
		return member{}, nil, err
	}
	m := successor(old, id, e.claim, e.who)
	ops := []session.Op{session.SetOp(run.at(stateNode), encode(next), sc.version)}
	if old != nil {
		ops = append(ops, session.SetOp(run.member(id), encode(m), sc.stat.Version), session.DeleteOp(run.free(id), -1))
	} else {
		ops = append(ops, session.CreateOp(run.member(id), encode(m), session.Persistent, opts))
	}
	ops = append(ops, session.CreateOp(run.identity(e.who.Name), []byte(strconv.Itoa(id)), session.Persistent, opts))
	if old == nil && next.full() {
		ops = append(ops, session.CreateOp(run.at(fullNode), nil, session.Persistent, opts))
	}
	return m, append(ops, session.CreateOp(run.live(m), encode(m), session.Ephemeral, opts)), nil
}

// choose chooses an id, with the member that had it before: nil if it is given out
// for the first time.
func (e *entrance) choose(ctx context.Context, s *session.Session, sc *scene) (id int, next status, old *member, err error) {
	for free := sc.free; ; {
		id, next, err = sc.status.enter(e.job.record.ReuseIDs, free)
		switch {
		case errors.Is(err, ErrFull) && len(free) < len(sc.free):
			return 0, next, nil, optimistic.ErrChanged
		case err != nil || id == sc.status.Next:
			return id, next, nil, err
		}
		r := newReading(ctx)
		old, sc.stat = r.member(s.StartGet(e.job.run.member(id), false), id)
		switch {
		case r.Err != nil:
			return 0, next, nil, r.Err
		case old != nil && old.Left:
			return id, next, old, nil
		}
		// Somebody has it: since the status was read, or a stranger says that it
		// is free.
		free = slices.DeleteFunc(slices.Clone(free), func(n int) bool { return n == id })
	}
}

// comeBack makes the transaction with which an identity takes its id over from
// its former self.
func (e *entrance) comeBack(sc scene) (member, []session.Op, error) {
	next, err := sc.status.again(*sc.known)
	if err != nil {
		return member{}, nil, err
	}
	if sc.known.Name != e.who.Name {
		return member{}, nil, fmt.Errorf("%w: id %d is that of %q", ErrRecord, sc.known.ID, sc.known.Name)
	}
	run := e.job.run
	m := successor(sc.known, sc.known.ID, e.claim, e.who)
	ops := []session.Op{
		session.SetOp(run.at(stateNode), encode(next), sc.version),
		session.SetOp(run.member(m.ID), encode(m), sc.stat.Version),
	}
	if sc.live != nil {
		ops = append(ops, session.DeleteOp(run.live(*sc.known), -1))
	}
	return m, append(ops, session.CreateOp(run.live(m), encode(m), session.Ephemeral, e.job.opts.create())), nil
}

// hold holds the live node of m, which has come to be.
func (e *entrance) hold(ctx context.Context, s *session.Session, m member, token int64) error {
	h, err := s.Hold(ctx, e.job.run.live(m), nil)
	switch {
	case err == nil:
		e.worker = newWorker(e.job, h, m, token)
		return nil
	case s.Err() == nil && errors.Is(err, session.ErrNoNode):
		// Its next self came at once, or the job was killed.
		return fmt.Errorf("the worker is %w: %w", session.ErrLost, session.ErrNodeDeleted)
	}
	e.doubts = append(e.doubts, doubt{s, e.job.run.live(m)})
	return err
}
