// Package queuetest tests the recipes that queue for something: a mutex, a semaphore, the
// two sides of a read/write lock, an election. A recipe describes itself as a [Target], and
// every scenario of the suite runs on every target. Only tests import this package.
//
// A scenario that only one recipe can have stays in the tests of the recipe.
package queuetest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a hold that a contender has acquired.
type Held interface {
	session.Held
	// Path is that of the znode that stands for the hold.
	Path() string
	Session() *session.Session
}

// Acquire is a call that acquires.
type Acquire = func(ctx context.Context) (Held, error)

// Contender is a recipe's object of one client.
type Contender struct {
	// Acquire waits until it has acquired the tested hold.
	Acquire Acquire
	// Rival acquires what excludes everything, if Acquire does not, as a reader's does not,
	// or does it with less, as some permits do; nil: Acquire is the rival.
	Rival Acquire
	// Try is Acquire that does not wait; nil: the recipe has no such call.
	Try Acquire
	// Do runs a function under the acquired hold, and returns a loss; nil: the recipe
	// has no such call, and excepts the scenarios.
	Do func(ctx context.Context, fn func(ctx context.Context, h Held) error) error
	// Enqueue takes a place for what Acquire acquires, and does not wait; nil: the recipe
	// has no such call.
	Enqueue func(ctx context.Context) (Place, error)
	// Count is the number of contenders that a listing shows.
	Count func(ctx context.Context) (int, error)
	// Breakers are calls that take a hold away, one for each contender listed; FindBreak finds
	// the record of that for a former hold, and Breaks lists all records; nil: the recipe has
	// no such calls.
	Breakers  func(ctx context.Context) ([]BreakHold, error)
	FindBreak func(ctx context.Context, h Held) (Break, bool, error)
	Breaks    func(ctx context.Context) ([]Break, error)
	// Askers are calls that ask the listed contenders to give back, and AwaitRevocation waits
	// for that; nil: the recipe has no such calls.
	Askers          func(ctx context.Context) ([]func(context.Context) error, error)
	AwaitRevocation func(ctx context.Context, h Held) error
	// Enters has further calls that create a contender's znode, and Reads those that
	// only read.
	Enters, Reads map[string]func(ctx context.Context) error
}

// Target is a recipe, or one side of a recipe, that the suite runs on.
type Target struct {
	// Path is passed to New. The contenders' znodes are in Folder; empty: in Path.
	Path, Folder string
	// New makes a contender of a client at a path.
	New func(c *session.Client, path string) Contender
	// Layouts make contenders of the other layouts, Kazoo's last; nil: there is one layout.
	Layouts []func(c *session.Client, path string) Contender
	// Prefixes are names, up to the number, that count as contenders'. Strangers are names
	// that do not.
	Prefixes, Strangers []string
	// Says is how an error of Acquire begins, before the path.
	Says string
	// Shares says that several contenders may hold at the same time.
	Shares bool
	// Busy is the error that Try returns when it would have to wait.
	Busy error
	// NotHeld is the error that a second release returns.
	NotHeld error
	// Gone is the error of a Breaker for a contender that has gone.
	Gone error
	// Withdrawn is the error of a place that was withdrawn; nil without Enqueue.
	Withdrawn error
	// Except has the scenarios that the target does not have, by name, and the reasons.
	Except map[string]string
}

// layouts make contenders of all layouts, the default one first.
func (tg Target) layouts() []func(c *session.Client, path string) Contender {
	return slices.Concat([]func(*session.Client, string) Contender{tg.New}, tg.Layouts)
}

// Acquiring turns a method of a recipe into an Acquire.
func Acquiring[H Held](call func(ctx context.Context) (H, error)) Acquire {
	return func(ctx context.Context) (Held, error) {
		h, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
}

// Place is a place in the queue.
type Place interface {
	Await(ctx context.Context) (Held, error)
	Withdraw(ctx context.Context) error
	Ahead(ctx context.Context) (int, error)
	Watching() string
	Path() string
	Session() *session.Session
}

// place is a Place of a recipe whose holds are of type H.
type place[H Held] interface {
	Await(ctx context.Context) (H, error)
	Withdraw(ctx context.Context) error
	Ahead(ctx context.Context) (int, error)
	Watching() string
	Path() string
	Session() *session.Session
}

// placeOf makes a Place of a place of a recipe.
type placeOf[H Held] struct{ place[H] }

func (p placeOf[H]) Await(ctx context.Context) (Held, error) { return Acquiring(p.place.Await)(ctx) }

// Enqueuing turns a method of a recipe into a Contender's Enqueue.
func Enqueuing[H Held, P place[H]](call func(ctx context.Context) (P, error)) func(ctx context.Context) (Place, error) {
	return func(ctx context.Context) (Place, error) {
		p, err := call(ctx)
		if err != nil {
			return nil, err
		}
		return placeOf[H]{p}, nil
	}
}

// Doing turns a method of a recipe into a Contender's Do.
func Doing[H Held](call func(context.Context, func(context.Context, H) error) error) func(context.Context, func(context.Context, Held) error) error {
	return func(ctx context.Context, fn func(context.Context, Held) error) error {
		if fn == nil {
			return call(ctx, nil)
		}
		return call(ctx, func(ctx context.Context, h H) error { return fn(ctx, h) })
	}
}

// Failing turns a method of a recipe into a call of which only the error counts.
func Failing[R any](call func(ctx context.Context) (R, error)) func(ctx context.Context) error {
	return func(ctx context.Context) error { _, err := call(ctx); return err }
}

// Counting turns a method that lists contenders into a Contender's Count.
func Counting[C any](list func(ctx context.Context) ([]C, error)) func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		all, err := list(ctx)
		return len(all), err
	}
}

// scenario is one test of the suite.
type scenario func(t *testing.T, tg Target)

// scenarios are all tests of the suite, by name.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, family := range []map[string]scenario{losses(), calls(), breaks(), revocations(), strangers(), leftovers(), faults(), costs(), places(), withdrawals()} {
		maps.Copy(all, family)
	}
	return all
}

// Run runs the suite on targets, each scenario on all of them.
func Run(t *testing.T, targets map[string]Target) {
	all := scenarios()
	for name, tg := range targets {
		for except := range tg.Except {
			if all[except] == nil {
				t.Errorf("%s is excepted from %s, which is not a scenario", name, except)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			for _, target := range slices.Sorted(maps.Keys(targets)) {
				if tg := targets[target]; tg.Except[name] == "" {
					t.Run(target, func(t *testing.T) { all[name](t, tg) })
				}
			}
		})
	}
}
