package world

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// FolderIsDeletedAgainAndAgain is a test: a stranger that deletes the contenders' folder
// as soon as the folder exists makes them try again, but not as fast as the network can.
// take contends in folder, which only the stranger keeps it from having.
func FolderIsDeletedAgainAndAgain(t *testing.T, folder string, take func(ctx context.Context, c *session.Client) error) {
	t.Helper()
	for _, when := range []string{"getChildren2", "create2"} {
		t.Run("at "+when, func(t *testing.T) {
			In(t, nil, func(w *World) {
				w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
				times := 0
				defer w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == when && strings.HasPrefix(r.Path, folder) {
						times++
						for _, child := range w.Children(folder) {
							_ = w.Server.Delete(folder + "/" + child)
						}
						_ = w.Server.Delete(folder)
					}
					return zktest.Action{}
				})()
				require.ErrorIs(w, take(w.Within(30*time.Second), w.Client()), context.DeadlineExceeded)
				require.Greater(w, times, 5)
				require.Less(w, times, 60)
			})
		})
	}
}
