package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Session is one ZooKeeper session. Once it has ended it stays ended; a
// [Client] then makes the next one. Operations wait while the session has no
// connection, until it has one again, their context ends or the session does.
// All methods may be called from any number of goroutines.
type Session struct {
	client  *Client
	chroot  string
	acl     []ACL
	hooks   *Hooks
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
	keeper  *keeper
	refusal error // why the session cannot be used although it was made
	ready   chan struct{}

	// buried is closed when nothing of the session runs any more.
	buried   chan struct{}
	zk       *zk.Conn
	zkEvents <-chan zk.Event
	dialing  chan struct{} // closed once zk is set
	cleanups sync.WaitGroup

	// mu guards what follows. attached is closed while there is a connection,
	// and replaced when it is lost; idle, if somebody waits for it, is closed
	// when pending, the number of background deletions, reaches 0.
	mu       sync.Mutex
	attached chan struct{}
	plugged  bool // attached is closed
	pending  int
	idle     chan struct{}
	closing  bool // nothing is begun in the background any more
	warned   map[string]struct{}
}

// newSession makes a session; it returns once there is one, or ctx ends.
func newSession(ctx context.Context, c *Client) (*Session, error) {
	s := &Session{
		client: c, chroot: c.chroot, acl: c.opts.ACL, hooks: c.opts.Hooks, log: c.opts.Logger,
		clock: newClock(), ready: make(chan struct{}), buried: make(chan struct{}),
		dialing: make(chan struct{}), attached: make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	s.watches, s.subs = newWatchSet(s), newSubscriptionSet(s)
	c.graves.Add(1) // bury undoes it
	asked := c.opts.Timeout
	setDefault(&asked, DefaultTimeout)
	s.link = wire.NewLink(ctx, wire.Config{
		Timeout: asked, Servers: len(c.servers), MaxFrame: c.opts.MaxReply, MaxRequest: c.opts.MaxRequest,
		Credentials: wireCredentials(c.opts.Credentials), Dial: c.opts.Dialer,
		Pause: s.dialPause,
		Now:   s.now, Handler: handler{s},
	})
	s.servers = newRotation(c.servers, func() bool { return s.link.Ended() != nil })
	// go-zookeeper sees nothing but handshakes and pings: kilobytes do.
	const buffer = 4 << 10
	var err error
	s.zk, s.zkEvents, err = zk.Connect([]string{"zookeeper:" + defaultPort}, asked,
		zk.WithDialer(s.link.Dial), zk.WithHostProvider(s.servers), zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(buffer), zk.WithMaxConnBufferSize(buffer))
	if err != nil {
		c.graves.Done() // it never lived
		return nil, err
	}
	close(s.dialing)
	select {
	case <-s.ready:
		if err = s.accepted(ctx); err == nil {
			return s, nil
		}
	case <-s.ctx.Done():
		err = s.Err()
	case <-ctx.Done():
		err = unreachable(ctx, s.link.Failure())
	}
	s.end(ErrClosed, true)
	<-s.buried
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
	return fmt.Errorf("%w: %w (%w)", ErrUnreachable, failure, ended(ctx))
}

func wireCredentials(creds []Credential) []wire.Credential {
	out := make([]wire.Credential, len(creds))
	for i, c := range creds {
		out[i] = wire.Credential(c)
	}
	return out
}

// quiet swallows go-zookeeper's log: what matters of it reaches users as
// states and errors.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (s *Session) now() time.Time { return s.clock.now() }

// ID is the session's id, which is the EphemeralOwner of its ephemeral nodes.
func (s *Session) ID() int64 { return s.id }

// Timeout is the session timeout that the servers granted.
func (s *Session) Timeout() time.Duration { return s.keeper.timing.timeout }

// Heartbeat is the time between two proofs of the session while something is
// held: also how long it can take to notice that a held znode was deleted (with
// more than 64 holds, or than fit into a request, they take turns, and it is that
// many times longer).
func (s *Session) Heartbeat() time.Duration { return s.keeper.timing.heartbeat }

// Silence is how long ago the newest request, or ping, that a server has answered
// was sent. Answers and watch events come in order, so whatever that server knew
// of by then it has told: the age of a view that follows watches. While the
// connection lasts it stays below the time between two pings, a third of the
// timeout, but for the time that an answer takes.
func (s *Session) Silence() time.Duration { return s.keeper.silence() }

// TrustedUntil is the end of what the last proof of the session's life vouches
// for: State.TrustedUntil of this session, also when it has ended. What was held in
// it did not count after that, however late its owner finds out.
func (s *Session) TrustedUntil() time.Time { return s.keeper.until() }

// Context ends when the session is lost or closed; its cause wraps ErrLost and
// the reason. While something is held its Err looks at the clock.
func (s *Session) Context() context.Context { return clocked{s.ctx, s} }

// Err is nil while the session lives, and why it ended after.
func (s *Session) Err() error {
	if s.ctx.Err() == nil {
		return nil
	}
	return context.Cause(s.ctx)
}

// alive reports why nothing should be begun: ctx or the session is over.
func (s *Session) alive(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx)
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
		return ended(ctx)
	case <-s.ctx.Done():
		return s.Err()
	}
}

// lossReason is why the session is lost, also in the instant before its
// context has ended.
func (s *Session) lossReason() error {
	if err := s.Err(); err != nil {
		return err
	}
	return lost(reason(s.link.Ended()))
}

// end ends the session for cause. With polite the server is told, if there is
// a connection.
func (s *Session) end(cause error, polite bool) { s.link.End(cause, polite) }

// bury waits until go-zookeeper has let go of everything.
func (s *Session) bury() {
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
	close(s.buried)
	s.client.graves.Done()
}

// spawn runs fn, which must end with the session, on a goroutine of its own;
// false means that the session has ended and fn was not run.
func (s *Session) spawn(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	// Waited for by bury; ends with the session at the latest.
	s.cleanups.Go(fn)
	return true
}
