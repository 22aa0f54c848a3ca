// Package contender queues a session for a lock, permits or a leadership, granted
// in the order of a queue. A contender enters the queue with a protected ephemeral
// sequential node, waits for its turn by a [Rule], and leaves without a trace.
package contender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// ErrGone: another client deleted the contender's node during the wait.
var ErrGone = errors.New("its znode was deleted while it waited")

// Spec describes a contender and its queue.
type Spec struct {
	Dir     string        // the path whose children queue
	Name    func() string // a new, unique name, without the number
	Markers []string      // the markers of all names of contenders
	Data    []byte        // shown to others
	ACL     []session.ACL
	Rule    Rule
	// Lasting creates a missing Dir as a persistent znode, not as a container:
	// for queues shared with clients that do not create a deleted Dir again.
	Lasting bool
	// ReadDir also reads the data of Dir: see [Contender.DirData].
	ReadDir bool
	// Room is where contenders wait while the queue is long; nil: there is none.
	Room *Room
	// Order is the order of the queue; nil: that of the numbers.
	Order func(a, b znode.Entry) int
	// Rank has contenders wait by their rank, without a Room; nil: by their numbers.
	Rank *Rank
}

func (s Spec) dirMode() session.Mode {
	if s.Lasting {
		return session.Persistent
	}
	return session.Container
}

// Contender is a place in a queue, bound to one session. Its methods are for
// one goroutine at a time.
type Contender struct {
	s            *session.Session
	spec         Spec
	node         session.Node
	last         []string          // the listing of Enter, until the first use
	since        time.Time         // the time of last; see applyRule
	queue        znode.Queue       // the newest listing, up to the node
	self         *session.Watch    // on the own node, after a long wait
	predecessors predecessors      // watches on contenders ahead
	dir          *session.Seen     // see DirData
	cuts         int               // consecutive requests for watches that were lost, or refused
	event        session.EventType // of the watch that ended the last awaitAny; 0: none did
	waiting      *observing.Wait
	// deleted: the node is gone, and only a stranger can have a node of its name.
	deleted bool

	// crowded: the queue was too long; see awaitAdmission. found is its length when the
	// contender came, place the contender's in the room, and before is the number of the
	// place for whose end it waits: behind is how much that is less than it was at first.
	// full: as many places as the contender lets go ahead were taken when it came.
	crowded, full  bool
	found          int
	place          *Contender
	before, behind int32
	// rank is the place of a contender with a rank until the grant. out: it has no node in the
	// queue; see awaitRanked.
	rank *Contender
	out  bool
	// waited: the contender has waited since it entered the queue.
	waited bool
	// name is the name, without a number, of the next node in the queue; "": a new one.
	name string
	// shown is the node in the queue, or else the place.
	shown atomic.Pointer[session.Node]
}

// Node is the contender's znode: in the queue, or else in the room or among the ranked.
// Any goroutine may call it.
func (c *Contender) Node() session.Node { return *c.shown.Load() }

// DirData is the data of Dir as of just after the contender entered; false if the
// data was not read.
func (c *Contender) DirData() ([]byte, bool) {
	if c.dir == nil {
		return nil, false
	}
	return c.dir.Data, true
}

// Session is the session of the contender.
func (c *Contender) Session() *session.Session { return c.s }

// Observe has the place in the queue reported for the wait w from now on.
func (c *Contender) Observe(w *observing.Wait) { c.waiting = w }

// Granted reports, without waiting, whether the contender's turn has come.
func (c *Contender) Granted(ctx context.Context) (bool, error) {
	if c.crowded || c.out {
		return false, nil
	}
	d, err := c.applyRule(ctx)
	return err == nil && d.Granted, err
}

// Await waits for the contender's turn. Await can be called again after the end of
// ctx: the place in the queue stays until Leave. Await fails with ErrGone if
// another client deleted the node, and fails if the session is lost.
func (c *Contender) Await(ctx context.Context) error {
	if c.rank != nil {
		return c.awaitRanked(ctx)
	}
	return c.awaitTurn(ctx)
}

// awaitTurn waits until the queue grants.
func (c *Contender) awaitTurn(ctx context.Context) error {
	if c.crowded {
		if err := c.awaitAdmission(ctx); err != nil {
			return err
		}
	}
	for {
		d, err := c.applyRule(ctx)
		if err == nil && !d.Granted {
			d, err = c.awaitDecision(ctx, d)
		}
		if err != nil {
			return err
		}
		if d.Granted {
			c.predecessors.abandonAll()
			c.endPlace()
			return nil
		}
	}
}

// awaitDecision waits by decision d, and by the following decisions that need no
// request. Unless the last decision grants, the queue must be listed again.
func (c *Contender) awaitDecision(ctx context.Context, d Decision) (Decision, error) {
	for {
		gone, waited, err := c.awaitAny(ctx, d.Watch)
		switch {
		case err != nil || len(gone) == 0:
			return Decision{}, err
		case d.Enough:
			return Decision{Granted: true}, nil
		case !d.Shrinks || slices.Contains(gone, d.Recheck):
			return Decision{}, nil
		}
		c.queue.Entries = slices.DeleteFunc(c.queue.Entries, func(e znode.Entry) bool { return slices.Contains(gone, e.Name) })
		d = c.spec.Rule(c.queue, len(c.queue.Entries)-1)
		if d.Granted || !waited && !c.predecessors.areWatched(d.Watch) {
			// A predecessor that left before the watch was set shows that the listing
			// is old: all others may have left, too. Asking for each of them takes a
			// round trip each, and a new listing takes one round trip.
			return d, nil
		}
	}
}

// applyRule applies the rule to the listing of Enter, or to a new listing if the
// listing of Enter is as old as a heartbeat period. A slow caller may have lost the
// node between Enter and Await, and another contender may hold the lock that the
// old listing would grant.
func (c *Contender) applyRule(ctx context.Context) (Decision, error) {
	children := c.last
	c.last = nil
	if time.Since(c.since) >= c.s.Heartbeat() {
		children = nil
	}
	q, self, err := c.position(ctx, children)
	if err != nil {
		return Decision{}, err
	}
	if q.Exhausted {
		// Other libraries order such numbers differently, also ahead of this
		// contender: the queue has no order, and no contender is its first.
		return Decision{}, fmt.Errorf("%s: %w", c.spec.Dir, session.ErrSequenceExhausted)
	}
	c.waiting.Queued(c.node.Path, self)
	d := c.spec.Rule(q, self)
	c.queue = znode.Queue{}
	if d.Shrinks {
		c.queue.Entries = slices.Clone(q.Entries[:self+1])
	}
	return d, nil
}

// position finds the contender in the queue with these children; nil: list them.
func (c *Contender) position(ctx context.Context, children []string) (q znode.Queue, self int, err error) {
	if children == nil {
		children, _, err = c.s.Children(ctx, c.spec.Dir)
		if errors.Is(err, session.ErrNoNode) {
			err = c.goneError()
		}
		if err != nil {
			return q, -1, err
		}
		if room := c.spec.Room; room != nil && c.place == nil {
			room.noteLength(len(children))
		}
	}
	q = znode.Parse(children, c.spec.Markers...)
	if c.spec.Order != nil {
		slices.SortFunc(q.Entries, c.spec.Order)
	}
	if self = q.Index(znode.Base(c.node.Path)); self < 0 {
		err = c.goneError()
		c.deleted = !slices.Contains(children, znode.Base(c.node.Path))
	}
	return q, self, err
}

func (c *Contender) goneError() error {
	c.deleted = true
	return fmt.Errorf("%s: %w", c.node.Path, ErrGone)
}

// Hold holds the granted lock or permits: trust in the session is proved, and the
// hold ends with the node. Afterwards the contender is spent; the node belongs to
// the hold. Hold fails with ErrGone if another client has deleted the node.
func (c *Contender) Hold(ctx context.Context) (*session.Hold, error) {
	h, err := c.s.Hold(ctx, c.node.Path, c.self)
	if errors.Is(err, session.ErrNoNode) || err == nil && errors.Is(h.Err(), session.ErrNodeDeleted) {
		return nil, c.goneError() // deleted together with the predecessor
	}
	return h, err
}

// Leave leaves the queue; after a nil error the node is gone. If ctx ends first, or
// no server answers (see [session.Session.GiveBackContext]), the deletion continues
// in the background. A node deleted by another client is not deleted again: a
// stranger may have created a node of the same name since.
func (c *Contender) Leave(ctx context.Context) error {
	ctx, cancel := c.s.GiveBackContext(ctx)
	defer cancel()
	var err error
	if c.place != nil {
		err = c.place.Leave(ctx)
	}
	if c.rank != nil {
		err = c.rank.Leave(ctx)
	}
	if c.inQueue() && !c.deleted {
		err = errors.Join(err, c.s.EnsureDeleted(ctx, c.node.Path))
	}
	c.stopWatches()
	return err
}

// LeaveBehind is Leave without waiting, for a caller whose context has ended, or
// whose error must not wait for the deletion.
func (c *Contender) LeaveBehind() {
	if c.inQueue() && !c.deleted {
		optimistic.DeleteLater(c.s, c.node.Path)
	}
	c.leaveRoom()
	if c.rank != nil {
		c.rank.LeaveBehind()
	}
	c.stopWatches()
}

// leaveQueue deletes the node in the queue, in the background, and ends its watches. The
// contender can enter the queue again, with a node of another name.
func (c *Contender) leaveQueue() {
	c.stopWatches()
	optimistic.DeleteLater(c.s, c.node.Path)
}

// stopWatches ends the watches of the contender.
func (c *Contender) stopWatches() {
	c.predecessors.stopAll()
	if c.self != nil {
		c.self.Stop()
		c.self = nil
	}
}
