package session

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// NewID returns a random (version 4) UUID in lower case.
func NewID() string { return znode.NewID() }

// ProtectedName returns a unique name for a znode, in the form of Curator's
// protection: "_c_", a UUID, "-" and base.
func ProtectedName(base string) string { return znode.Protected(base) }

// CreateProtected creates a znode whose name, the last element of path, is never
// used by another client (see [ProtectedName]). If the reply is lost,
// CreateProtected can therefore find out: it waits for requests in flight, looks
// for the name, and checks the owner of an ephemeral znode. CreateProtected
// returns the znode if it was created, and an error if it was not. Nothing is
// left behind when ctx ends, even while the request is in flight: if the znode
// was created, it is deleted in the background. If the session is lost first, an
// ephemeral znode is deleted in the client's next session, as by
// [Session.EnsureRemainsDeleted].
//
// The error wraps ErrUnknownOutcome only
//   - if the session is lost during the creation of a znode that does not go with
//     the session;
//   - if ctx ends while the request for such a znode is in flight (the session
//     may be lost before the deletion); or
//   - if the search itself is refused (a parent whose children this client may
//     not read). The search then continues in the background, without Close
//     waiting for it, and the znode is deleted if it is found; but not if the
//     list of children is longer than Options.MaxReply.
//
// A sequential znode whose number does not tell the order of arrival any more is
// deleted, and the error wraps ErrSequenceExhausted.
func (s *Session) CreateProtected(ctx context.Context, path string, data []byte, mode Mode, o *CreateOptions) (Node, error) {
	s.mustBeUsable(ctx)
	return s.StartProtected(path, data, mode, o).Wait(ctx)
}

// errDropped ends a creation that did not happen and whose caller has given up.
var errDropped = errors.New("given up by its caller")

// errMissing is the reason of a creation that was to be tried once.
var errMissing = errors.New("the reply was lost, and the node does not exist")

// Creation is a protected creation in progress.
type Creation struct {
	s      *Session
	path   string
	data   []byte
	mode   Mode
	opts   *CreateOptions
	sent   *Future[Node] // the latest request; nil when none is in progress
	first  bool          // it is the one that StartProtected sent
	direct bool
	// dropped: the caller gave up; the creation in progress is only cleaned up.
	dropped bool
}

// StartProtected is [Session.CreateProtected] without waiting: requests that are
// started behind it travel with it. The caller must call Wait, once.
func (s *Session) StartProtected(path string, data []byte, mode Mode, o *CreateOptions) *Creation {
	s.mustBeMade()
	return &Creation{s: s, path: path, data: data, mode: mode, opts: o, sent: s.StartCreate(path, data, mode, o), first: true}
}

// Direct reports, after Wait has returned a znode, whether the request of
// StartProtected was answered: requests that were started behind it then saw the
// znode.
func (c *Creation) Direct() bool {
	c.mustBeMade()
	return c.direct
}

// Wait returns the znode; see [Session.CreateProtected].
func (c *Creation) Wait(ctx context.Context) (Node, error) {
	mustHaveContext(ctx)
	c.mustBeMade()
	node, err := c.resolve(ctx)
	if err != nil && ctx.Err() != nil {
		// The caller gives up; the request may still be carried out.
		c.dropped = true
		if c.sent != nil {
			c.s.runInBackground(func(life context.Context) {
				node, err := c.resolve(life)
				if err == nil {
					_ = c.s.deleteUntilGone(life, node.Path) // logged nowhere: the node or the session is gone
				} else if errors.Is(err, ErrUnknownOutcome) {
					c.s.spawn(func() { c.findInBackground(err) })
				}
			})
		}
		if errors.Is(err, ErrUnknownOutcome) && !c.mode.ephemeral() {
			return Node{}, &UnknownOutcomeError{Op: "create", Path: c.path, Reason: endError(ctx)} // until that is done
		}
		return Node{}, &OpError{Op: "create", Path: c.path, Err: endError(ctx)}
	}
	if err != nil {
		if c.sent != nil && errors.Is(err, ErrUnknownOutcome) {
			c.s.spawn(func() { c.findInBackground(err) })
		}
		return Node{}, err
	}
	return c.checkSequence(node)
}

// resolve waits for the outcome; it may be called again after its context ended.
func (c *Creation) resolve(ctx context.Context) (Node, error) {
	for lost := 0; ; {
		if c.sent == nil {
			if c.dropped {
				return Node{}, &OpError{Op: "create", Path: c.path, Err: errDropped}
			}
			if err := c.s.awaitConnection(ctx); err != nil {
				return Node{}, &OpError{Op: "create", Path: c.path, Err: err}
			}
			c.sent, c.first = c.s.StartCreate(c.path, c.data, c.mode, c.opts), false
		}
		node, err := c.sent.Wait(ctx)
		switch {
		case err == nil:
			c.direct = c.first
			return node, nil
		case NotSent(err):
			c.sent = nil
			continue
		case errors.Is(err, ErrThrottled):
			c.sent = nil
			if err := c.s.awaitRepetition(ctx, err, &lost); err != nil {
				return Node{}, &OpError{Op: "create", Path: c.path, Err: err}
			}
			continue
		case ctx.Err() != nil && !isDone(c.sent.done):
			return Node{}, err // the request is still in progress
		case !errors.Is(err, ErrUnknownOutcome):
			return Node{}, err
		}
		if err := c.s.awaitRepetition(ctx, err, &lost); err != nil {
			return Node{}, c.unknownOutcome(err)
		}
		node, found, err := c.findByID(ctx)
		switch {
		case err != nil:
			return Node{}, c.unknownOutcome(err)
		case found:
			return node, nil
		case c.opts != nil && c.opts.Once:
			c.sent = nil
			return Node{}, &UnknownOutcomeError{Op: "create", Path: c.path, Reason: errMissing}
		}
		// A request of the lost connection cannot be carried out any more: find has
		// waited for all requests that reached the leader before, and the leader
		// refuses later ones, since the session has moved.
		c.sent = nil
	}
}

// findByID looks for the node in the state of after the lost request.
func (c *Creation) findByID(ctx context.Context) (Node, bool, error) {
	return c.s.findCreated(ctx, c.path, c.mode, c.s.id)
}

// findCreated looks for the node of a protected creation at path, in mode, whose request
// was sent before, in the session called owner.
func (s *Session) findCreated(ctx context.Context, path string, mode Mode, owner int64) (Node, bool, error) {
	dir := parent(path)
	name := znode.Base(path)
	for lost := 0; ; {
		if err := s.awaitConnection(ctx); err != nil {
			return Node{}, false, err
		}
		// Not a sync: a leader answers that at once to its own clients, with
		// the lost request proposed but not yet committed. This transaction,
		// which changes nothing, is answered behind all that was proposed
		// before it, also when it fails.
		behind, list := s.StartTxn(CheckOp(dir, -1)), s.StartChildren(dir, false)
		_, err := behind.Wait(ctx)
		var seen Seen
		if err == nil {
			seen, err = list.Wait(ctx)
		}
		switch {
		case NotSent(err):
			runtime.Gosched() // as in do
			continue
		case Unanswered(err), errors.Is(err, ErrThrottled):
			if err := s.awaitRepetition(ctx, err, &lost); err != nil {
				return Node{}, false, err
			}
			continue
		case errors.Is(err, ErrNoNode):
			return Node{}, false, nil
		case err != nil:
			return Node{}, false, err
		}
		for _, child := range seen.Children {
			if child != name && (!mode.sequential() || !strings.HasPrefix(child, name)) {
				continue
			}
			path := join(dir, child)
			stat, exists, err := s.Exists(ctx, path)
			if err != nil {
				return Node{}, false, err
			}
			// A node of this name and another owner would be one that a
			// dead session left; it goes, and is not ours.
			if exists && (!mode.ephemeral() || stat.EphemeralOwner == owner) {
				return Node{Path: path, Stat: stat}, true, nil
			}
		}
		return Node{}, false, nil
	}
}

// findInBackground looks for the node of a search that was refused with err as soon as that is
// allowed, and deletes it. A list that is too long to be read costs a connection
// whenever it is asked for: that is not repeated.
func (c *Creation) findInBackground(err error) {
	s := c.s
	for pause := insistPause; !errors.Is(err, ErrReplyTooLarge) && s.sleep(s.ctx, pause) == nil; pause = min(2*pause, longestInsistPause) {
		var node Node
		var found bool
		if node, found, err = c.findByID(s.ctx); err != nil {
			continue
		}
		if found && errors.Is(s.deleteUntilGone(s.ctx, node.Path), ErrNoAuth) {
			s.retryForbiddenDelete(node.Path)
		}
		return
	}
}

// unknownOutcome is the error of a search that could not be finished.
func (c *Creation) unknownOutcome(err error) error {
	if c.s.Err() != nil && c.mode.ephemeral() {
		if c.opts == nil || !c.opts.KeepRemains {
			c.s.deleteRemaining(remainingZnode{path: c.path, mode: c.mode, owner: c.s.ID(), sought: true})
		}
		return &OpError{Op: "create", Path: c.path, Err: err}
	}
	return &UnknownOutcomeError{Op: "create", Path: c.path, Reason: err}
}

// checkSequence refuses a sequential node without a valid number.
func (c *Creation) checkSequence(node Node) (Node, error) {
	if !c.mode.sequential() {
		return node, nil
	}
	n, err := Sequence(node.Path)
	// From -1000000000 downwards the last ten characters have no minus.
	negative := strings.HasPrefix(strings.TrimPrefix(node.Path, c.path), "-")
	if err != nil || negative {
		c.s.runInBackground(func(life context.Context) { _ = c.s.deleteUntilGone(life, node.Path) })
		return Node{}, &OpError{Op: "create", Path: c.path, Err: fmt.Errorf("%s: %w", parent(c.path), ErrSequenceExhausted)}
	}
	if n >= SequenceWarning {
		c.s.warnSequence(parent(c.path), n)
	}
	return node, nil
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// warnSequence warns once per session and parent.
func (s *Session) warnSequence(dir string, n int32) {
	s.mu.Lock()
	_, known := s.warned[dir]
	if !known {
		if s.warned == nil {
			s.warned = make(map[string]struct{})
		}
		s.warned[dir] = struct{}{}
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("zookeeper sequence numbers run out: delete this node while no client uses it, and its numbers restart from 0",
			"path", dir, "number", n, "last", int32(1<<31-1))
	}
}
