package kubelock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The lock is taken, renewed and released under every fault at every request. Meanwhile no
// other client takes it, and afterwards one can at once.
func TestLockUnderEveryFault(t *testing.T) {
	take := func(ctx context.Context, l *lock) error { return l.Update(ctx, record{HolderIdentity: l.Identity()}) }
	world.Trial{
		Name: "Update", Paths: []string{dir},
		Counts:  func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
		Excuses: []error{session.ErrUnknownOutcome},
		Op: func(ctx context.Context, p *world.Party) error {
			l, other := kubelock.New[record](p.Tested, dir, "tested", nil), kubelock.New[record](p.Other, dir, "other", nil)
			return l.Run(ctx, func(ctx context.Context) error {
				err := take(ctx, l)
				held := l.Held()
				if err == nil && held != nil {
					// The other one wins only after a loss, of which the context tells.
					_ = other.Run(context.Background(), func(free context.Context) error {
						taken := take(free, other)
						if taken == nil {
							err = p.Overlap(ctx, held.Guard(), held.Token(), other.Held().Token())
						}
						return taken
					})
				}
				if err == nil {
					err = take(ctx, l)
				}
				if err == nil {
					err = l.Update(ctx, record{})
				}
				return err
			})
		},
		Next: func(ctx context.Context, p *world.Party) error {
			next := kubelock.New[record](p.Other, dir, "next", nil)
			return next.Run(ctx, func(ctx context.Context) error {
				if r, _, err := next.Get(ctx); err != nil || r.HolderIdentity != "" {
					return fmt.Errorf("the record is %+v: %w", r, errors.Join(err, world.ErrBroken))
				}
				return take(ctx, next)
			})
		},
	}.Run(t)
}
