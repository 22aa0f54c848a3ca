package election_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestCandidateWhoseFolderIsDeletedAgainAndAgainBacksOff(t *testing.T) {
	world.FolderIsDeletedAgainAndAgain(t, dir, func(ctx context.Context, c *session.Client) error {
		_, err := elector(c, "me").Campaign(ctx)
		return err
	})
}
