package lock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestContenderWhoseFolderIsDeletedAgainAndAgainBacksOff(t *testing.T) {
	permit := func(o *lock.Options) func(context.Context, *session.Client) error {
		return func(ctx context.Context, c *session.Client) error {
			_, err := lock.NewSemaphore(c, "/q", 1, o).Acquire(ctx, 1)
			return err
		}
	}
	for name, kind := range map[string]struct {
		folder string
		take   func(context.Context, *session.Client) error
	}{
		"mutex": {"/q", func(ctx context.Context, c *session.Client) error {
			_, err := lock.New(c, "/q", nil).Lock(ctx)
			return err
		}},
		"semaphore":                     {"/q", permit(nil)},
		"semaphore in Curator's layout": {"/q/leases", permit(&lock.Options{CuratorV2: true})},
	} {
		t.Run(name, func(t *testing.T) { world.FolderIsDeletedAgainAndAgain(t, kind.folder, kind.take) })
	}
}
