package lock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/session"
)

// Semaphore gives out a number of permits among all processes that use its
// path, in the order in which they were asked for. Who asks for several gets
// all of them at once or waits; since the head of the queue is always served
// next, nobody starves, and no two can block each other.
type Semaphore struct {
	client  *session.Client
	path    string
	permits int
	opts    Options
	err     error // what is wrong with the arguments
}

// NewSemaphore makes a semaphore of so many permits, 1 to 2147483647, on path. All
// who use the path must say the same number: it is kept in the data of the path, and who
// says another gets ErrPermits. It does nothing yet; a wrong argument is
// reported by the first call of a method. o may be nil; Layout, LocalHandover
// and LockDelay have no meaning here.
func NewSemaphore(client *session.Client, path string, permits int, o *Options) *Semaphore {
	m := New(client, path, o)
	s := &Semaphore{client: client, path: path, permits: permits, opts: m.opts, err: m.err}
	// What a name says that is wanted is counted up to MaxInt32 (permitsOf).
	if s.err == nil && (permits < 1 || permits > math.MaxInt32) {
		s.err = fmt.Errorf("%w: %d permits; there must be at least one, and at most %d", ErrPermits, permits, math.MaxInt32)
	}
	return s
}

// Acquire waits until it holds n permits. ctx bounds the wait, not the hold;
// when it ends, no znode is left behind.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Permits, error) {
	return s.take(ctx, "acquire", n, false)
}

// TryAcquire takes n permits if that is possible without waiting; otherwise the
// error wraps ErrBusy. ctx bounds the call.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Permits, error) {
	return s.take(ctx, "try", n, true)
}

func (s *Semaphore) take(ctx context.Context, op string, n int, try bool) (*Permits, error) {
	if err := s.begin(ctx, n); err != nil {
		return nil, failure(ctx, op, s.path, err)
	}
	for {
		sess, err := s.client.Session(ctx)
		if err != nil {
			return nil, failure(ctx, op, s.path, err)
		}
		var p *Permits
		if try {
			err = s.free(ctx, sess, n)
		}
		switch {
		case err != nil:
		case s.opts.CuratorV2:
			p, err = s.takeLeases(ctx, sess, n, try)
		default:
			p, err = s.takeRank(ctx, sess, n, try)
		}
		switch {
		case err == nil:
			return p, nil
		case ctx.Err() != nil:
			return nil, failure(ctx, op, s.path, err)
		case sess.Err() != nil, errors.Is(err, contender.ErrGone):
			// The nodes are gone; queue up again, in the next session if
			// there is one.
		default:
			return nil, failure(ctx, op, s.path, err)
		}
	}
}

func (s *Semaphore) begin(ctx context.Context, n int) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.err != nil:
		return s.err
	case n < 1:
		return fmt.Errorf("%w: %d asked for; it must be at least one", ErrPermits, n)
	case n > s.permits:
		return fmt.Errorf("%w: %d asked for, there are %d", ErrPermits, n, s.permits)
	}
	return nil
}

// takeRank queues up once; it leaves nothing behind when it fails.
func (s *Semaphore) takeRank(ctx context.Context, sess *session.Session, n int, try bool) (*Permits, error) {
	c, err := contender.Enter(ctx, sess, contender.Spec{
		Dir: s.path, Name: permitName(n), Markers: []string{permitMarker},
		Data: s.opts.Data, ACL: s.opts.ACL, Rule: contender.Weighted(s.permits, permitsOf),
		ReadDir: true,
	})
	if err != nil {
		return nil, err
	}
	if total, ok := c.DirData(); !ok || string(total) != strconv.Itoa(s.permits) {
		err = s.agree(ctx, sess)
	}
	if err == nil {
		err = awaitOrTry(ctx, c, try)
	}
	var hold *session.Hold
	if err == nil {
		hold, err = c.Hold(ctx)
	}
	if err != nil {
		c.LeaveBehind()
		return nil, goneError(err)
	}
	return newPermits(s.path, n, []held{{hold, c.Node().Stat.Czxid}}), nil
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

// goneError makes the loss of the contender's node, which a request has found
// out, an ErrGone.
func goneError(err error) error {
	if errors.Is(err, session.ErrNoNode) {
		return fmt.Errorf("%w: %w", contender.ErrGone, err)
	}
	return err
}

// agree compares the number of permits with what the path says, and says it if
// nobody has.
func (s *Semaphore) agree(ctx context.Context, sess *session.Session) error {
	want := strconv.Itoa(s.permits)
	for tries := 0; ; tries++ {
		data, stat, err := sess.Get(ctx, s.path)
		switch {
		case err != nil:
			return err
		case len(data) > 0:
			return s.matches(data)
		}
		_, err = sess.Set(ctx, s.path, []byte(want), stat.Version)
		// Somebody else was faster, or the answer was lost: read again.
		if err != nil && !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		_ = sess.BackOff(ctx, tries) // it may cost the connection each time
	}
}

// matches compares the number of permits with data, which the path says.
func (s *Semaphore) matches(data []byte) error {
	if len(data) > 0 && string(data) != strconv.Itoa(s.permits) {
		return fmt.Errorf("%w: %d here, but the path says %.20q", ErrPermits, s.permits, data)
	}
	return nil
}

// PermitsAt is the number of permits that path says its semaphore has; 0 if path
// is not there, or says none: nobody has used it yet, or it is no Semaphore's, or
// one of [Options.CuratorV2], which keeps the number nowhere. It reads once.
func PermitsAt(ctx context.Context, client *session.Client, path string) (int, error) {
	if err := New(client, path, nil).begin(ctx); err != nil {
		return 0, failure(ctx, "read", path, err)
	}
	data, err := saidAt(ctx, client, path)
	if err != nil {
		return 0, failure(ctx, "read", path, err)
	}
	if n, bad := strconv.Atoi(string(data)); bad == nil && n > 0 && strconv.Itoa(n) == string(data) {
		return n, nil
	}
	return 0, nil
}

// saidAt is path's data; none if it is not there.
func saidAt(ctx context.Context, client *session.Client, path string) ([]byte, error) {
	sess, err := client.Session(ctx)
	if err != nil {
		return nil, err
	}
	data, _, err := sess.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return data, err
}

// Contenders lists who holds permits and who waits, in order: as it was at one
// moment, which is over. If the path says another number of permits the error
// wraps ErrPermits: it would be wrong who holds.
func (s *Semaphore) Contenders(ctx context.Context) ([]Contender, error) {
	if err := s.begin(ctx, 1); err != nil {
		return nil, failure(ctx, "list", s.path, err)
	}
	dir, marker := s.path, permitMarker
	if s.opts.CuratorV2 {
		dir, marker = s.leases(), curatorLease
	} else {
		data, err := saidAt(ctx, s.client, s.path)
		if err == nil {
			err = s.matches(data)
		}
		if err != nil {
			return nil, failure(ctx, "list", s.path, err)
		}
	}
	list, err := contenders(ctx, s.client, dir, []string{marker})
	if err != nil {
		return nil, failure(ctx, "list", s.path, err)
	}
	taken := 0
	for i := range list {
		list[i].Permits = 1
		if !s.opts.CuratorV2 {
			list[i].Permits = permitsOf(list[i].Name)
		}
		taken += list[i].Permits
		list[i].Holds = taken <= s.permits
	}
	return list, nil
}
