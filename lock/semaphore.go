package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Semaphore gives out a number of permits among all processes that use its path,
// in the order of the requests. A request for several permits gets all of them at
// once, or waits. The head of the queue is always served next, so no contender
// starves, and no two contenders can block each other.
type Semaphore struct {
	client  *session.Client
	path    string
	permits int
	opts    Options
	room    *contender.Room
	err     error // an invalid argument of NewSemaphore
}

// NewSemaphore makes a semaphore with permits permits, 1 to 2147483647, on path.
// All clients of the path must use the same number: the number is kept in the
// data of the path, and a client with another number gets ErrPermits.
// NewSemaphore sends nothing; the first call of a method reports an invalid
// argument. o may be nil; Layout, LocalHandover and LockDelay have no effect.
func NewSemaphore(client *session.Client, path string, permits int, o *Options) *Semaphore {
	m := New(client, path, o)
	s := &Semaphore{client: client, path: path, permits: permits, opts: m.opts, err: m.err}
	// The number of permits in a contender's name counts up to MaxInt32
	// (lockformat.PermitsOf).
	if s.err == nil && (permits < 1 || permits > math.MaxInt32) {
		s.err = fmt.Errorf("%w: %w: %d permits; there must be at least one, and at most %d", ErrInvalidArgument, ErrPermits, permits, math.MaxInt32)
	}
	if limit := s.opts.MaxQueue; limit > 0 {
		s.room = contender.NewRoom(path+lockformat.RoomSuffix, limit+min(permits, math.MaxInt32-2*limit))
	}
	return s
}

// Acquire waits until it holds n permits. ctx bounds the wait, not the hold; when
// ctx ends, no znode is left behind.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Permits, error) {
	s = receiver.OrZero(s)
	return s.takePermits(ctx, "acquire", n, false)
}

// TryAcquire takes n permits if possible without waiting; otherwise the error
// wraps ErrBusy. ctx bounds the call.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Permits, error) {
	s = receiver.OrZero(s)
	return s.takePermits(ctx, "try", n, true)
}

func (s *Semaphore) takePermits(ctx context.Context, op string, n int, try bool) (*Permits, error) {
	if err := s.checkCall(ctx, n); err != nil {
		return nil, failure(ctx, op, s.path, err)
	}
	waiting := observing.Begin(ctx, s.client, observe.Permit, s.path, try)
	p, err := s.contend(ctx, n, try, waiting)
	if err != nil {
		err = failure(ctx, op, s.path, err)
		waiting.EndTry(err, errors.Is(err, ErrBusy))
		return nil, err
	}
	p.end.Observe(waiting.Granted(p, false))
	return p, nil
}

// contend queues up until it has n permits, or knows that it cannot have them at once.
func (s *Semaphore) contend(ctx context.Context, n int, try bool, waiting *observing.Wait) (*Permits, error) {
	var backoff contender.Backoff
	for {
		backoff.Begin()
		before := s.client.RemainsDealtWith()
		sess, err := s.client.Session(ctx)
		if err != nil {
			return nil, err
		}
		var p *Permits
		if try {
			err = s.checkRoom(ctx, sess, n)
		}
		switch {
		case err != nil:
		case s.opts.CuratorV2:
			p, err = s.takeLeases(ctx, sess, n, try, waiting)
		default:
			p, err = s.takeRank(ctx, sess, n, try, waiting)
		}
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, err
		case sess.Err() != nil, errors.Is(err, contender.ErrGone):
			// The nodes are gone: queue up again, perhaps in the next session.
			backoff.Pause(ctx, sess)
		case try && errors.Is(err, ErrBusy) && s.client.AwaitRemains(ctx, before): // as in Mutex.tryAcquire
		default:
			return nil, err
		}
	}
}

func (s *Semaphore) checkCall(ctx context.Context, n int) error {
	err := holding.Begin(ctx, s.client, "lock.NewSemaphore", s.err, ErrInvalidArgument)
	switch {
	case err != nil:
		return err
	case n < 1:
		return fmt.Errorf("%w: %w: %d asked for; it must be at least one", ErrInvalidArgument, ErrPermits, n)
	case n > s.permits:
		return fmt.Errorf("%w: %w: %d asked for, there are %d", ErrInvalidArgument, ErrPermits, n, s.permits)
	}
	return nil
}

// takeRank queues up once; after a failure it leaves nothing behind.
func (s *Semaphore) takeRank(ctx context.Context, sess *session.Session, n int, try bool, waiting *observing.Wait) (*Permits, error) {
	c, err := contender.Enter(ctx, sess, s.queue(n))
	if err != nil {
		return nil, err
	}
	c.Observe(waiting)
	err = s.checkEntered(ctx, c)
	if err == nil {
		err = awaitOrTry(ctx, c, try)
	}
	var p *Permits
	if err == nil {
		p, err = s.holdPermits(ctx, c, n)
	}
	if err != nil {
		c.LeaveBehind()
		return nil, goneError(err)
	}
	return p, nil
}

// queue describes the queue of contenders for n permits.
func (s *Semaphore) queue(n int) contender.Spec {
	return contender.Spec{
		Dir: s.path, Name: func() string { return lockformat.PermitName(n) }, Markers: []string{lockformat.Permit},
		Data: s.opts.Data, ACL: s.opts.ACL, Rule: contender.Weighted(s.permits, lockformat.PermitsOf),
		ReadDir: true, Room: s.room,
	}
}

// checkEntered makes sure that all contenders of the queue that c has entered have the
// same number of permits.
func (s *Semaphore) checkEntered(ctx context.Context, c *contender.Contender) error {
	if total, ok := c.DirData(); ok && string(total) == strconv.Itoa(s.permits) {
		return nil
	}
	return goneError(s.agreeOnPermits(ctx, c.Session()))
}

// holdPermits holds the n permits that c was granted.
func (s *Semaphore) holdPermits(ctx context.Context, c *contender.Contender, n int) (*Permits, error) {
	hold, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return newPermits(s.client, s.path, n, []held{{hold, c.Node().Stat.Czxid}}), nil
}

func awaitOrTry(ctx context.Context, c *contender.Contender, try bool) error {
	if !try {
		return c.Await(ctx)
	}
	granted, err := c.Granted(ctx)
	if err == nil && !granted {
		return ErrBusy
	}
	return err
}

// goneError turns the loss of the contender's node, found out by a request,
// into ErrGone.
func goneError(err error) error {
	if errors.Is(err, session.ErrNoNode) {
		return fmt.Errorf("%w: %w", contender.ErrGone, err)
	}
	return err
}

// agreeOnPermits compares the number of permits with the number in the path's data, and
// writes the number if missing.
func (s *Semaphore) agreeOnPermits(ctx context.Context, sess *session.Session) error {
	want := strconv.Itoa(s.permits)
	for tries := 0; ; tries++ {
		data, stat, err := sess.Get(ctx, s.path)
		switch {
		case err != nil:
			return err
		case len(data) > 0:
			return s.checkPermits(data)
		}
		_, err = sess.Set(ctx, s.path, []byte(want), stat.Version)
		// Another client was faster, or the answer was lost: read again.
		if err != nil && !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) {
			return err
		}
		_ = sess.BackOff(ctx, tries) // may cost the connection each time; the read checks ctx
	}
}

// checkPermits compares the number of permits with data, the path's data.
func (s *Semaphore) checkPermits(data []byte) error {
	if len(data) > 0 && string(data) != strconv.Itoa(s.permits) {
		return fmt.Errorf("%w: %d here, but the path says %.20q", ErrPermits, s.permits, data)
	}
	return nil
}

// checkAgreement makes sure that the clients of the path use the same number of permits, as
// far as the path's data tells.
func (s *Semaphore) checkAgreement(ctx context.Context) error {
	if s.opts.CuratorV2 {
		return nil
	}
	data, err := readPathData(ctx, s.client, s.path)
	if err != nil {
		return err
	}
	return s.checkPermits(data)
}

// PermitsAt returns the number of permits in the data of path, with one read. The
// number is 0 if path does not exist or has no number: no client has used the
// semaphore yet, the path belongs to another recipe, or the semaphore uses
// [Options.CuratorV2], which stores no number.
func PermitsAt(ctx context.Context, client *session.Client, path string) (int, error) {
	if err := New(client, path, nil).checkCall(ctx); err != nil {
		return 0, failure(ctx, "read", path, err)
	}
	data, err := readPathData(ctx, client, path)
	if err != nil {
		return 0, failure(ctx, "read", path, err)
	}
	if n, bad := strconv.Atoi(string(data)); bad == nil && n > 0 && strconv.Itoa(n) == string(data) {
		return n, nil
	}
	return 0, nil
}

// readPathData reads path's data; none for a missing path.
func readPathData(ctx context.Context, client *session.Client, path string) ([]byte, error) {
	var data []byte
	err := client.Retry(ctx, func(s *session.Session) (err error) {
		data, _, err = s.Get(ctx, path)
		return err
	})
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return data, err
}

// Contenders lists the holders of permits and the waiters, in order, as
// [Mutex.Contenders] does. If the path has another number of permits, the error wraps
// ErrPermits, because holders and waiters could not be distinguished.
func (s *Semaphore) Contenders(ctx context.Context) ([]Contender, error) {
	s = receiver.OrZero(s)
	if err := s.checkCall(ctx, 1); err != nil {
		return nil, failure(ctx, "list", s.path, err)
	}
	err := s.checkAgreement(ctx)
	dir, marker := s.contenders()
	var list []Contender
	if err == nil {
		list, err = listContenders(ctx, s.client, dir, []string{marker})
	}
	if err != nil {
		return nil, failure(ctx, "list", s.path, err)
	}
	wanted := make([]int, len(list))
	for i := range list {
		if s.opts.CuratorV2 {
			list[i].Permits = 1
		}
		wanted[i] = list[i].Permits
	}
	for i := range served(s.permits, wanted) {
		list[i].Holds = !list[i].Outside
	}
	return list, nil
}
