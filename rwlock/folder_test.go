package rwlock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestContenderWhoseFolderIsDeletedAgainAndAgainBacksOff(t *testing.T) {
	for name, lock := range map[string]func(*rwlock.RWMutex, context.Context) (*rwlock.Held, error){
		"writer": (*rwlock.RWMutex).Lock, "reader": (*rwlock.RWMutex).RLock,
	} {
		t.Run(name, func(t *testing.T) {
			world.FolderIsDeletedAgainAndAgain(t, dir, func(ctx context.Context, c *session.Client) error {
				_, err := lock(rwlock.New(c, dir, nil), ctx)
				return err
			})
		})
	}
}
