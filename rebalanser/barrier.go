package rebalanser

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// checks is how many operations are in front of those that take barriers.
const checks = 2

// grip is a barrier that this client has taken: nobody else changes it as long as
// the client's node exists.
type grip struct {
	version int32
	token   int64 // mzxid of the taking
}

// barrier is what was read of a barrier.
type barrier struct {
	name    string
	exists  bool
	owner   string // "": it is free
	version int32
	mzxid   int64
	watch   *session.Watch
}

// attempt is one try to take barriers.
type attempt struct {
	p *seat
	// got is what was taken, or was this client's already; held is what others
	// have, who live, each with a watch that was set when they did; owners has a
	// watch on each of these.
	got    map[string]grip
	held   map[string]barrier
	owners map[string]*session.Watch
	// swept is the version of the folder when the barriers were read, or before.
	// A barrier that is deleted and made anew has versions that it had before:
	// whoever deletes one changes the folder, and so nobody takes one for another.
	swept int32
}

// take tries to take the barriers of these resources, until it is clear of each who
// has it. To be repeated it needs nothing: what an unanswered transaction has done is
// read.
//
// Each owner's client node is read after the barrier that names it, in one session,
// which does not go back in time: so a node that is not there has gone, even if the
// server lags behind, and since its name is never used again, it has gone for ever.
func (p *seat) take(ctx context.Context, names []string) (*attempt, error) {
	a := &attempt{p: p, got: map[string]grip{}, held: map[string]barrier{}, owners: map[string]*session.Watch{}}
	err := error(nil)
	for part := range batches(names, window, maxTxn, func(n string) int { return len(n) }) {
		for len(part) > 0 && err == nil {
			err = p.s.Retry(ctx, func() (err error) {
				part, err = a.round(ctx, part)
				return err
			})
		}
	}
	if err != nil {
		a.stop()
		return nil, err
	}
	return a, nil
}

// stop ends all watches of what others have.
func (a *attempt) stop() {
	for _, b := range a.held {
		b.stop()
	}
	for _, w := range a.owners {
		w.Stop()
	}
}

// round reads the barriers, and takes those that can be taken. It returns those that
// must be read again.
func (a *attempt) round(ctx context.Context, names []string) (again []string, err error) {
	seen, err := a.read(ctx, names)
	if err != nil {
		return names, err
	}
	gone, err := a.p.gone(ctx, seen, a.owners)
	if err != nil {
		drop(seen)
		return names, err
	}
	var free []barrier
	for _, b := range seen {
		switch {
		case b.owner == a.p.client:
			b.stop()
			a.got[b.name] = grip{b.version, b.mzxid}
		case b.owner == "" || gone[b.owner]:
			b.forget()
			free = append(free, b)
		default:
			a.held[b.name] = b
		}
	}
	return a.grab(ctx, free)
}

// read reads barriers, and sets a watch on each that exists.
func (a *attempt) read(ctx context.Context, names []string) ([]barrier, error) {
	folder := a.p.s.StartExists(a.p.at.in(barriersDir), false)
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = a.p.s.StartGet(a.p.at.barrier(name), true)
	}
	out := make([]barrier, len(names))
	first, err := folder.Wait(ctx)
	a.swept = first.Stat.Version
	err = errors.Join(err, answers(ctx, futures, func(i int, seen session.Seen, there bool) {
		out[i] = readBarrier(names[i], seen, there)
	}))
	if err != nil {
		drop(out)
		return nil, err
	}
	return out, nil
}

// readBarrier makes sense of a barrier's node. One whose data is nobody's record is
// free: nobody here has written it.
func readBarrier(name string, seen session.Seen, there bool) barrier {
	record, _ := decode[barrierRecord](seen.Data)
	return barrier{
		name: name, exists: there, owner: record.Client,
		version: seen.Stat.Version, mzxid: seen.Stat.Mzxid, watch: seen.Watch,
	}
}

// drop stops the watches of barriers.
func drop(bs []barrier) {
	for _, b := range bs {
		b.stop()
	}
}

// stop ends the watch. There is none on a barrier that does not exist.
func (b barrier) stop() {
	if b.watch != nil {
		b.watch.Stop()
	}
}

// forget ends the watch of a barrier that is about to be taken, which fires it.
func (b barrier) forget() {
	if b.watch != nil {
		b.watch.Forget()
	}
}

// gone says which owners of barriers are no members any more, and sets a watch on
// those that are, unless watched has one. The barriers were read before.
func (p *seat) gone(ctx context.Context, seen []barrier, watched map[string]*session.Watch) (map[string]bool, error) {
	gone := map[string]bool{}
	for _, b := range seen {
		if b.owner != "" && b.owner != p.client && watched[b.owner] == nil {
			gone[b.owner] = false
		}
	}
	names := slices.Collect(maps.Keys(gone))
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = p.s.StartExists(p.at.client(name), true)
	}
	err := answers(ctx, futures, func(i int, seen session.Seen, _ bool) {
		if gone[names[i]] = !seen.Exists; seen.Exists {
			watched[names[i]] = seen.Watch
		} else {
			seen.Watch.Stop()
		}
	})
	return gone, err
}

// grab takes barriers that nobody has, in transactions that fail if this client is no
// member any more. One that somebody else has taken makes its transaction fail, and
// is read again; the others go on without it.
func (a *attempt) grab(ctx context.Context, free []barrier) (again []string, err error) {
	mine := encode(barrierRecord{Client: a.p.client})
	for len(free) > 0 {
		var next []barrier
		parts := slices.Collect(batches(free, maxOps, maxTxn, func(b barrier) int { return 2*len(b.name) + len(mine) + 2*perOp }))
		futures := make([]*session.Future[[]session.Result], len(parts))
		for i, part := range parts {
			futures[i] = a.p.s.StartTxn(a.ops(part, mine)...)
		}
		for i, part := range parts {
			results, e := futures[i].Wait(ctx)
			if e == nil {
				a.grabbed(part, results)
				continue
			}
			if culprit(e) == 1 && errors.Is(e, session.ErrBadVersion) {
				again = append(again, barrierNames(part)...) // some were swept
				continue
			}
			loser := a.whose(part, e)
			if culprit(e) == 0 && errors.Is(e, session.ErrNoNode) {
				e = errNodeGone
			}
			if loser >= 0 && !part[loser].exists && errors.Is(e, session.ErrNoNode) {
				loser = -1 // the folder of the barriers has gone
			}
			if loser < 0 {
				// What has become of it is read, when there is a connection.
				again, err = append(again, barrierNames(part)...), errors.Join(err, e)
				continue
			}
			again = append(again, part[loser].name)
			next = append(append(next, part[:loser]...), part[loser+1:]...)
		}
		if free = next; err != nil {
			return append(again, barrierNames(free)...), err
		}
	}
	return again, nil
}

// ops are those of a transaction that takes barriers. Only a set tells its zxid, so
// what is created is set, too.
func (a *attempt) ops(free []barrier, mine []byte) []session.Op {
	ops := []session.Op{a.p.guard(), session.CheckOp(a.p.at.in(barriersDir), a.swept)}
	for _, b := range free {
		path := a.p.at.barrier(b.name)
		if !b.exists {
			ops = append(ops, session.CreateOp(path, nil, session.Persistent, a.p.created()))
		}
		ops = append(ops, session.SetOp(path, mine, b.version))
	}
	return ops
}

func (a *attempt) grabbed(part []barrier, results []session.Result) {
	i := checks
	for _, b := range part {
		if !b.exists {
			i++
		}
		a.got[b.name] = grip{results[i].Stat.Version, results[i].Stat.Mzxid}
		i++
	}
}

// whose is the barrier that made a transaction fail, since somebody else has changed
// it; -1 if that is not why it failed.
func (a *attempt) whose(part []barrier, err error) int {
	at := culprit(err)
	if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrNodeExists) && !errors.Is(err, session.ErrNoNode) {
		return -1
	}
	i := checks
	for n, b := range part {
		if i++; !b.exists {
			i++
		}
		if at >= checks && at < i {
			return n
		}
	}
	return -1
}

func barrierNames(bs []barrier) []string {
	out := make([]string, len(bs))
	for i, b := range bs {
		out[i] = b.name
	}
	return out
}
