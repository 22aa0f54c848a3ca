package locktable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/mailbox"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Acquirer takes locks for an [Owner] as soon as they are free. Names can be added and
// dropped at any time.
type Acquirer struct {
	o       *Owner
	got     func([]*Held)
	dropped func([]string)
	orders  *mailbox.Mailbox[order]

	// mu guards stage: no order is posted after the stop.
	mu    sync.Mutex
	stage stage

	// The next fields belong to Run: the locks of other owners and these owners,
	// each with a watch; and the locks that this owner holds, or is taking or
	// releasing.
	waiting map[string]entry
	owners  map[string]*session.Watch
	own     map[string]bool

	// wait is the wait of Lock for all locks; nil if each hold is reported at once. begun
	// has the holds that Lock reports.
	wait  *observing.Wait
	begun reports
}

// order tells an Acquirer what to do, or what may have changed.
type order struct {
	want, drop []string
	// fired is a lock of another owner; owner is such an owner.
	fired, owner string
	// idle is a lock formerly held by this owner, or used by another call of
	// this owner.
	idle string
}

// stage is how far Run is.
type stage int

const (
	fresh stage = iota
	running
	stopped
)

// Acquirer makes an acquirer, which is active during its Run. got is called
// with taken locks, any number at once; dropped is called with names not tried
// any more after a Drop. Each name of a Want is answered by got or, after a
// Drop, by dropped. Both functions are called by one goroutine at a time: by
// Run's, or after the end of Run by Drop's. They must not wait for Run or Drop.
// Acquirer sends no request.
func (o *Owner) Acquirer(got func([]*Held), dropped func([]string)) *Acquirer {
	if o.mustBeMade(); got == nil || dropped == nil {
		panic("locktable: a function of the Acquirer is nil")
	}
	return &Acquirer{
		o: o, got: got, dropped: dropped, orders: mailbox.New[order](),
		waiting: map[string]entry{}, owners: map[string]*session.Watch{}, own: map[string]bool{},
	}
}

// reportTo leaves the reports of beginnings to a caller that waits for all locks; nil: no observer.
func (a *Acquirer) reportTo(waiting *observing.Wait) {
	if waiting != nil {
		a.wait, a.begun = waiting, reports{}
	}
}

// Want adds names of locks to take, and does not wait. A lock already held by
// the owner is taken after its release. Names already wanted are ignored.
func (a *Acquirer) Want(names ...string) error {
	if err := a.checkCall(names); err != nil {
		return err
	}
	a.postWant(names)
	return nil
}

func (a *Acquirer) postWant(names []string) { a.orders.Post(order{want: slices.Clone(names)}) }

// Drop ends the attempts to take the locks of these names, and does not wait.
// Locks taken before stay held.
func (a *Acquirer) Drop(names ...string) error {
	if err := a.checkCall(names); err != nil {
		return err
	}
	names = slices.Clone(names)
	a.mu.Lock()
	over := a.stage == stopped
	if !over {
		a.orders.Post(order{drop: names})
	}
	a.mu.Unlock()
	if over {
		a.answerDrops(names)
	}
	return nil
}

func (a *Acquirer) checkCall(names []string) error {
	if a == nil || a.o == nil {
		return fmt.Errorf("locktable: %w: a nil or zero locktable.Acquirer takes nothing: get one from locktable.Owner", ErrInvalidArgument)
	}
	if err := checkNames(names); err != nil {
		return failure(a.o.ctx, "acquire", a.o.t.path, err)
	}
	return nil
}

// Run takes locks until ctx ends, and then returns nil. Locks passed to got
// stay held; locks taken by an unanswered transaction are released in the
// background. Every other end is an error: ctx had ended before the call, the
// owner is lost or released, or a server refuses a request. Run can be called
// once.
func (a *Acquirer) Run(ctx context.Context) error {
	a = receiver.OrZero(a)
	const op = "acquire"
	if a.o == nil {
		return failure(ctx, op, "", holding.BeginHeld(ctx, false, "locktable.Acquirer", "locktable.Owner", ErrInvalidArgument))
	}
	over := ctx == nil || ctx.Err() != nil
	err := a.runOnce(ctx)
	if !over && ctx.Err() != nil && (holding.IsContextEnd(ctx, err) || errors.Is(err, session.ErrUnknownOutcome)) {
		return nil
	}
	return failure(ctx, op, a.o.t.path, err)
}

func (a *Acquirer) runOnce(ctx context.Context) error {
	a.mu.Lock()
	first := a.stage == fresh
	if first {
		a.stage = running
	}
	a.mu.Unlock()
	if !first {
		return fmt.Errorf("%w: Run of an Acquirer was called twice", ErrInvalidArgument)
	}
	defer a.endRun()
	if _, err := a.o.checkCall(ctx); err != nil {
		return err
	}
	ctx, end := session.WithHolds(ctx, a.o.ctx)
	defer end(nil)
	for {
		select {
		case <-a.orders.Ready():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if len(a.waiting) > 0 {
			// An owner releases hundreds of locks at once. The events of the
			// releasing transaction arrive before the reply to this request, so
			// they are handled together.
			if _, _, err := a.o.s.Exists(ctx, a.o.hold.Path()); err != nil {
				return err
			}
		}
		try, drop := a.sortOrders(a.orders.Take())
		if err := a.tryNames(ctx, try); err != nil {
			a.answerDrops(drop)
			return err
		}
		a.dropNames(drop)
		a.stopUnneededWatches()
	}
}

// endRun ends all watches, and answers pending drops.
func (a *Acquirer) endRun() {
	for _, e := range a.waiting {
		e.stopWatch()
	}
	for _, w := range a.owners {
		w.Stop()
	}
	a.o.forgetWaiter(a, slices.Collect(maps.Keys(a.own)))
	a.mu.Lock()
	a.stage = stopped
	left := a.orders.Take()
	a.mu.Unlock()
	for _, o := range left {
		a.answerDrops(o.drop)
	}
}

// answerDrops passes names no longer tried to dropped.
func (a *Acquirer) answerDrops(names []string) {
	a.o.mu.Lock()
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return a.o.held[name] != nil })
	a.o.mu.Unlock()
	if len(names) > 0 {
		a.dropped(names)
	}
}
