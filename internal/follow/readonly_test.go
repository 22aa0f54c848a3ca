package follow_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A state is read from a server without a quorum while there is no other, and followed when
// there is one again.
func TestStateIsReadFromAServerWithoutAQuorum(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		require.NoError(w, w.Server.Create(path, []byte("1")))
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, w.Server.Stop(3))
		w.Pass(10 * time.Second)
		var seen []string
		for state, err := range states(w.Within(time.Hour), w.ClientWith(session.Options{ReadOnly: true})) {
			require.NoError(w, err)
			if seen = append(seen, state); len(seen) == 2 {
				break
			}
			require.NoError(w, w.Server.Restart(2))
			w.Pass(10 * time.Second)
			require.NoError(w, w.Server.Set(path, []byte("2")))
		}
		require.Equal(w, []string{"1", "2"}, seen)
	})
}

// The quorum is lost while the first state is being read.
func TestReadGoesOnWithoutAQuorum(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		require.NoError(w, w.Server.Create(path, []byte("1")))
		w.Pass(time.Second)
		c := w.ClientWith(session.Options{ReadOnly: true})
		w.Session(c)
		w.Server.Delay(zktest.Link{}, zktest.Both, 200*time.Millisecond)
		stopped := make(chan error, 2)
		time.AfterFunc(100*time.Millisecond, func() {
			stopped <- w.Server.Stop(2)
			stopped <- w.Server.Stop(3)
			w.Server.Heal()
		})
		for state, err := range states(w.Within(time.Hour), c) {
			require.NoError(w, err)
			require.Equal(w, "1", state)
			break
		}
		require.NoError(w, <-stopped)
		require.NoError(w, <-stopped)
	})
}
