package world_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// The sessions of eight holders share their heartbeats if the tests are run for that: otherwise
// a run of scripts/test-sharing.sh would prove nothing.
func TestHoldersShareHeartbeatsIfTheTestsAreRunForThat(t *testing.T) {
	for _, folder := range []string{"", "/heartbeats"} {
		t.Run("folder "+folder, func(t *testing.T) {
			t.Setenv("ZKTEST_SHARED_HEARTBEATS", folder)
			world.In(t, nil, func(w *world.World) {
				for i := range 8 {
					s, path := w.Session(w.Client()), fmt.Sprintf("/held-%d", i)
					_, err := s.Create(w.Ctx, path, nil, session.Ephemeral, nil)
					require.NoError(w, err)
					_, err = s.Hold(w.Ctx, path, nil)
					require.NoError(w, err)
				}
				w.Pass(10 * time.Second)
				w.ResetStats()
				w.Pass(time.Minute)
				// Each session sends a transaction per second, or all together send two.
				sent := w.Server.Stats().Requests["multi"]
				if folder == "" {
					require.Greater(w, sent, 400)
					return
				}
				require.NotEmpty(w, w.Children(folder))
				require.Less(w, sent, 200)
				require.Greater(w, w.Server.Stats().Requests["getData"], 100)
			})
		})
	}
}
