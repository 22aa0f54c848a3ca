package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Party is the client under test, and a client without faults.
type Party struct {
	Tested, Other *session.Client
	// Expires: the fault is an early expiry, of which no client can know before
	// the server's answer.
	Expires bool
	// State is the trial's own, made by its Setup.
	State any

	ledgers [2]*Ledger // of Tested and Other
}

// ErrBroken is reported by operations that detect a violation of mutual
// exclusion.
var ErrBroken = errors.New("two hold it at once")

// Overlap checks a grant with token second to another client, while ctx belongs
// to a hold with token first. The result is nil if the holder knows of its
// loss, or could not know, and its guard refuses.
func (p *Party) Overlap(ctx context.Context, guard session.Op, first, second int64) error {
	if ctx.Err() == nil && !p.Expires {
		return fmt.Errorf("%w: tokens %d and %d", ErrBroken, first, second)
	}
	s, err := p.Other.Session(context.Background())
	if err != nil {
		return err
	}
	if _, err := s.Txn(context.Background(), guard); !errors.Is(err, session.ErrNoNode) || second <= first {
		return fmt.Errorf("tokens %d and %d; the guard says %w", first, second, err)
	}
	return nil
}

// Trial is an operation under every fault at every request, with the checks of
// its outcome.
type Trial struct {
	Name string
	// Paths must have no children left afterwards.
	Paths []string
	// Setup may be nil.
	Setup func(e *matrix.Env, p *Party) error
	Op    func(ctx context.Context, p *Party) error
	// Next must succeed afterwards, with the other client usually.
	Next func(ctx context.Context, p *Party) error
	// Counts selects the requests for faults; nil: matrix.DefaultCounts.
	Counts func(zktest.Request) bool
	// Excuses are accepted errors, in addition to those explained by the fault.
	Excuses []error
	// Watched allows watches to be left on the server.
	Watched bool
	// Options of the server; may be nil.
	Options *zktest.Options

	// Shows selects the events that RunObserved compares; nil: all events of recipes.
	Shows func(observe.Event) bool

	seen func(fault matrix.Fault, steps string) // see RunObserved; may be nil
}

// Run tries all cases, and returns how many there were.
func (tr Trial) Run(t *testing.T) int {
	t.Helper()
	return matrix.Run(t, tr.Case()).Cases
}

// RunUntilDeadline is Run for an operation that, without a fault, fails by its
// deadline, on purpose.
func (tr Trial) RunUntilDeadline(t *testing.T) int {
	t.Helper()
	op := tr.Op
	tr.Op = func(ctx context.Context, p *Party) error {
		err := op(ctx, p)
		if err == nil {
			return errors.New("it got what another holds")
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	}
	return tr.Run(t)
}

// RunPairs is Run under every two faults, in either order, at every two
// requests. It tries only every each-th case, or all with ZKTEST_SEEDS; with
// -short a quarter of the cases, with fewer faults.
func (tr Trial) RunPairs(t *testing.T, each int) int {
	t.Helper()
	switch {
	case Thorough():
		each = 1
	case testing.Short():
		each *= 4
	}
	c := tr.Case()
	faults := c.Faults
	if faults == nil {
		faults = matrix.All()
	}
	faults = append(faults, matrix.Freeze)
	c.Faults, c.Pairs, c.Mixed = []matrix.Fault{}, faults, each
	return matrix.Run(t, c).Cases
}

// Pairs are the faults to try twice in a run of a Case. With -short, for the race detector,
// there are none: they order no goroutines that one fault does not order.
func Pairs(faults ...matrix.Fault) []matrix.Fault {
	if testing.Short() {
		return nil
	}
	return faults
}

// Case is the trial for matrix, with all faults; with -short, for the race detector, with
// one of each kind: the loss of a reply, a session and a caller. Between the first and the
// last request Case has every fifth of them; with ZKTEST_SEEDS all.
func (tr Trial) Case() matrix.Case {
	var faults []matrix.Fault
	if testing.Short() {
		faults = []matrix.Fault{matrix.LostReply, matrix.ExpireAfter, matrix.CancelUnknown}
	}
	if tr.seen != nil && faults == nil {
		faults = append(matrix.All(), matrix.Freeze)
	}
	every := 5
	if Thorough() {
		every = 1
	}
	tr.Excuses = slices.Concat(tr.Excuses, productExcuses())
	return matrix.Case{
		Name: tr.Name, Racy: true, Counts: tr.Counts, Faults: faults, Every: every, Options: withProduct(tr.Options),
		Setup: tr.setup,
		Op:    func(ctx context.Context, e *matrix.Env) error { return tr.Op(ctx, e.State.(*Party)) },
		Check: tr.check,
	}
}

func (tr Trial) setup(e *matrix.Env) error {
	p := &Party{Expires: e.Suffers(matrix.Expire, matrix.ExpireAfter), ledgers: [2]*Ledger{NewLedger(), NewLedger()}}
	p.ledgers[0].shows = tr.Shows
	var err error
	ctx := context.Background()
	tested := withSharing(session.Options{Dialer: e.Dial, Observer: p.ledgers[0]})
	if p.Tested, err = session.Connect(ctx, e.Addrs(), &tested); err != nil {
		return err
	}
	other := withSharing(session.Options{Dialer: e.DialOther, Observer: p.ledgers[1]})
	if p.Other, err = session.Connect(ctx, e.Addrs(), &other); err != nil {
		return err
	}
	e.State = p
	e.Cleanup(func() {
		over, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := errors.Join(p.Tested.Close(over), p.Other.Close(over)); err != nil {
			e.T.Error(err)
		}
		Pause(time.Second) // for the events of losses
		for _, l := range p.ledgers {
			if err := l.Check(); err != nil {
				e.T.Errorf("%s: the events do not add up: %v\n%s", tr.Name, err, l.Steps())
			}
		}
		if tr.seen != nil {
			tr.seen(e.Fault, p.ledgers[0].Steps())
		}
	})
	if tr.Setup != nil {
		return tr.Setup(e, p)
	}
	return nil
}

func (tr Trial) check(e *matrix.Env) error {
	p := e.State.(*Party)
	if err := tr.judgeOutcome(e); err != nil {
		return err
	}
	// The tested client lives: its remains would stay.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, path := range tr.Paths {
		for names := []string{"?"}; len(names) > 0; names, _ = e.Server.Children(path) {
			if ctx.Err() != nil {
				return fmt.Errorf("orphans in %s: %q", path, names)
			}
			Pause(10 * time.Millisecond)
		}
	}
	if tr.Next != nil {
		// Frozen servers let sessions of all clients expire, and the other client may not
		// know it yet.
		err := p.Other.Retry(ctx, func(s *session.Session) error { return s.Sync(ctx, "/") })
		if err == nil {
			err = tr.Next(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("the next caller: %w", err)
		}
	}
	return tr.awaitNoWatches(e)
}

// awaitNoWatches gives background work at least the time that a session lasts without its client,
// and waits at most a minute until no watches are left.
func (tr Trial) awaitNoWatches(e *matrix.Env) error {
	for range 4 {
		Pause(15 * time.Second)
		if tr.Watched || !Has(RemovesWatches) || e.Server.Stats().Watches == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d watches left on the server: %v", e.Server.Stats().Watches, e.Server.Watches())
}

func (tr Trial) judgeOutcome(e *matrix.Env) error {
	excuses := slices.Clone(tr.Excuses)
	if e.Canceled() {
		excuses = append(excuses, context.Canceled)
	}
	if e.Suffers(matrix.Expire, matrix.ExpireAfter, matrix.Freeze, matrix.Outage) {
		excuses = append(excuses, session.ErrLost, session.ErrNodeDeleted)
	}
	if e.Err == nil || slices.ContainsFunc(excuses, func(x error) bool { return errors.Is(e.Err, x) }) {
		return nil
	}
	return fmt.Errorf("no excuse for: %w", e.Err)
}

// CheckOutcome compares the result of a change with the number of times it was
// made.
func CheckOutcome(said error, times int) error {
	switch {
	case times > 1:
		return fmt.Errorf("it was made %d times", times)
	case said == nil && times == 0:
		return errors.New("it was not made, and that is not said")
	case said != nil && times > 0 && !errors.Is(said, session.ErrUnknownOutcome):
		return fmt.Errorf("it was made, and that is denied: %w", said)
	}
	return nil
}

// Outcome is the result of an operation that was followed by a check and a clean-up: first
// what the check has found wrong, with the operation's error, then the error of the clean-up.
func Outcome(ctx context.Context, op, unsteady, left error) error {
	if unsteady != nil {
		return fmt.Errorf("%w, after %w", unsteady, errors.Join(op, ctx.Err()))
	}
	return cmp.Or(left, op)
}
