package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestWriterMayFinishInTheGrace(t *testing.T) {
	world.Graceful{
		Dir: dir,
		Do: func(ctx context.Context, c *session.Client, grace time.Duration, fn func(context.Context) error) error {
			return rwlock.New(c, dir, &rwlock.Options{Grace: grace}).Do(ctx, func(ctx context.Context, _ *rwlock.Held) error { return fn(ctx) })
		},
	}.Test(t)
}

// The second reader of the suite is kept out by a writer.
func TestReaderMayFinishInTheGrace(t *testing.T) {
	world.Graceful{
		Dir: dir,
		Do: func(ctx context.Context, c *session.Client, grace time.Duration, fn func(context.Context) error) error {
			m := rwlock.New(c, dir, &rwlock.Options{Grace: grace})
			run := func(ctx context.Context, _ *rwlock.Held) error { return fn(ctx) }
			if list, err := m.Contenders(ctx); err != nil || len(list) > 0 {
				return m.Do(ctx, run)
			}
			return m.RDo(ctx, run)
		},
	}.Test(t)
}
