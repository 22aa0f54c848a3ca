package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Session is one ZooKeeper session. Once it has ended it stays ended; a [Client]
// then makes the next session. Without a connection, operations wait until the
// session has a connection again, their context ends or the session ends. All
// methods may be called from any number of goroutines.
type Session struct {
	client  *Client
	chroot  string
	acl     []ACL
	reports *reporter
	log     *slog.Logger
	clock   *clock
	servers *rotation
	link    *wire.Link
	watches *watchSet
	subs    *subscriptionSet

	// raw ends with the session; users get it wrapped (Context).
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Set once, under mu, before ready is closed, and not changed after.
	id      int64
	renewer *leaseRenewer
	refusal error // why the session cannot be used although it was made
	ready   chan struct{}

	// closed is closed when nothing of the session runs any more.
	closed   chan struct{}
	zk       *zk.Conn
	zkEvents <-chan zk.Event
	dialing  chan struct{} // closed once zk is set
	cleanups sync.WaitGroup

	// mu guards the fields below. attached is closed while there is a connection,
	// and replaced when it is lost; idle, if a call waits for it, is closed
	// when pending, the number of background deletions, reaches 0.
	mu        sync.Mutex
	attached  chan struct{}
	connected bool // attached is closed
	pending   int
	idle      chan struct{}
	closing   bool // nothing is begun in the background any more
	warned    map[string]struct{}
	// trial is set while the session stands for none but itself: see Client.probe.
	// stopProbe, if not nil, ends a probe that is made in place of this session.
	trial     bool
	stopProbe context.CancelFunc
	// reads, set before anything else knows the session, if it is for reads from a server
	// without a quorum: what the server tells is as old as heardBefore, or less.
	reads       bool
	heardBefore time.Time
	// outdated: what the session has seen is not of the present ensemble.
	outdated atomic.Bool
	// demanded is the newest transaction that the server of a session for reads had to know.
	demanded atomic.Int64

	// refused gets the time since when servers have left handshakes of the session
	// without an answer, once that is long ago; cap 1.
	refused chan time.Time
}

// newSession makes a session; it returns once there is one, or ctx ends.
func newSession(ctx context.Context, c *Client, k kind) (*Session, error) {
	trial := k == onTrial
	s := &Session{
		client: c, chroot: c.chroot, acl: c.opts.ACL, reports: c.reports, log: c.opts.Logger,
		clock: newClock(), ready: make(chan struct{}), closed: make(chan struct{}),
		dialing: make(chan struct{}), attached: make(chan struct{}),
		trial: trial, refused: make(chan time.Time, 1), reads: k == forReads,
	}
	if s.reads {
		s.heardBefore = c.lastKnown().heard
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.watches, s.subs = newWatchSet(s), newSubscriptionSet(s)
	c.closingSessions.Add(1) // closeInBackground undoes it
	asked := c.timeout()
	s.link = wire.NewLink(ctx, wire.Config{
		Timeout: asked, Servers: s.countServers, MaxFrame: c.opts.MaxReply, MaxRequest: c.opts.MaxRequest,
		Credentials: wireCredentials(c.opts.Credentials), Dial: s.dial, SASL: s.startSASL(),
		PairPings: c.opts.Trust == TrustQuorum, Pause: s.dialPause, ReadOnly: s.reads, Seen: s.newestSeen, Opening: s.catchUp,
		Now: s.now, Handler: handler{s},
	})
	switch k {
	case onTrial:
		c.states.muteUntilTrialEnds(s)
	case usual:
		c.setMaking(s)
		defer c.setMaking(nil)
	}
	s.servers = newRotation(c.currentEnsemble(), c.reach, s.resolve, func() bool { return s.link.Ended() != nil }, c.random)
	// go-zookeeper sees nothing but handshakes and pings: kilobytes do.
	const buffer = 4 << 10
	var err error
	s.zk, s.zkEvents, err = zk.Connect([]string{"zookeeper:" + defaultPort}, asked,
		zk.WithDialer(s.link.Dial), zk.WithHostProvider(s.servers), zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(buffer), zk.WithMaxConnBufferSize(buffer))
	if err != nil {
		c.closingSessions.Done() // it never lived
		return nil, err
	}
	close(s.dialing)
	select {
	case <-s.ready:
		if err = s.accepted(ctx); err == nil {
			if c.opts.FollowEnsemble && !s.reads {
				s.spawn(s.followEnsemble)
			}
			return s, nil
		}
	case <-s.ctx.Done():
		err = s.Err()
	case <-ctx.Done():
		err = unreachable(ctx, s.link.Failure())
	}
	s.end(ErrClosed, true)
	<-s.closed
	return nil, err
}

// accepted reports why a session that has just been made is of no use.
func (s *Session) accepted(ctx context.Context) error {
	if s.refusal != nil || len(s.client.opts.Credentials) == 0 {
		return s.refusal
	}
	// The answers to the credentials come ahead of any other, so the first
	// answer shows that they were accepted.
	_, _, err := s.Exists(ctx, "/")
	return err
}

func unreachable(ctx context.Context, failure error) error {
	if failure == nil {
		failure = errors.New("no server has answered yet")
	}
	return fmt.Errorf("%w: %w (%w)", ErrUnreachable, failure, endError(ctx))
}

// quiet swallows go-zookeeper's log: its important parts reach users as states and
// errors.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (s *Session) now() time.Time { return s.clock.now() }

// ID returns the session's id, which is the EphemeralOwner of its ephemeral
// znodes.
func (s *Session) ID() int64 {
	s.mustBeMade()
	return s.id
}

// Timeout returns the session timeout that the servers granted.
func (s *Session) Timeout() time.Duration {
	s.mustBeMade()
	return s.renewer.timing.timeout
}

// Heartbeat returns the time between two proofs of the session while something is
// held. The deletion of a held znode is noticed within this time (plus one period
// for every 1,000 holds). Once the znode is watched, from the next heartbeat on,
// its deletion is reported at once.
func (s *Session) Heartbeat() time.Duration {
	s.mustBeMade()
	return s.renewer.timing.heartbeat
}

// LastHeard returns when the newest request, or ping, that a server has answered was
// sent. Replies and watch events come in order, so the server has reported everything
// that the server knew at that time: a view that follows watches is not older. While the
// connection lasts, LastHeard is less than the time between two pings, a third of the
// timeout, plus the time of a reply ago.
//
// In a session with a server without a quorum, LastHeard is that of the client's last
// session with a quorum, or zero if there was none: the server knows everything that this
// session has seen, and nothing is known about what it does not know.
func (s *Session) LastHeard() time.Time {
	s.mustBeMade()
	if s.reads {
		return s.heardBefore
	}
	return time.Now().Add(-s.renewer.sinceHeard())
}

// TrustedUntil returns the end of trust by the last proof of the session:
// State.TrustedUntil of this session, even after its end. Holds of the session
// did not count after that time, however late their owner finds out.
func (s *Session) TrustedUntil() time.Time {
	s.mustBeMade()
	return s.renewer.leaseEnd()
}

// Context ends when the session is lost or closed; its cause wraps ErrLost and
// the reason. While something is held, its Err compares the clock.
func (s *Session) Context() context.Context {
	s.mustBeMade()
	return clocked{s.ctx, s}
}

// Err returns nil while the session lives, and the reason of its end afterwards.
func (s *Session) Err() error {
	s.mustBeMade()
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// alive reports why nothing should be begun: ctx or the session is over.
func (s *Session) alive(ctx context.Context) error {
	if ctx.Err() != nil {
		return endError(ctx)
	}
	return s.Err()
}

// awaitConnection waits until there is a connection.
func (s *Session) awaitConnection(ctx context.Context) error {
	if err := s.alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	attached := s.attached
	s.mu.Unlock()
	select {
	case <-attached:
		return nil
	case <-ctx.Done():
		return s.explainNoConnection(endError(ctx))
	case <-s.ctx.Done():
		return s.Err()
	}
}

// lossReason is the reason why the session is lost, once its link has ended. It ends
// the session's context, as the link is about to: a caller that gets the reason also
// finds Err set.
func (s *Session) lossReason() error {
	s.cancel(lost(reason(s.link.Ended())))
	return s.Err()
}

// end ends the session for cause. With polite the server is told, if there is
// a connection.
func (s *Session) end(cause error, polite bool) { s.link.End(cause, polite) }

// closeInBackground waits until go-zookeeper has let go of everything.
func (s *Session) closeInBackground() {
	<-s.dialing
	s.zk.Close() // sends the close request if it can, within a second
	s.link.Hangup()
	for range s.zkEvents {
	}
	s.link.Wait()
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cleanups.Wait()
	close(s.closed)
	s.client.closingSessions.Done()
}

// spawn runs fn, which must end with the session, on a goroutine of its own;
// false means that the session has ended and fn was not run.
func (s *Session) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	// Waited for by closeInBackground; ends with the session at the latest.
	s.cleanups.Go(fn)
	return true
}
