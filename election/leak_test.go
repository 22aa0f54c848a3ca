package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// CH10, P24: thousands of leaderships, of candidacies that are given up and of
// reads leave no watch on the server, no goroutine, and no memory in the client.
func TestThousandsOfCyclesLeaveNothing_CH10_P24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		cycles := 6000
		if testing.Short() {
			cycles = 1500
		}
		a, b := elector(w.Client(), "a"), elector(w.Client(), "b")
		w.CyclesLeaveNothing(cycles, func(i int) {
			l := w.campaign(a)
			if i%2 == 0 {
				w.proclaim(l, "value")
			}
			k := w.stand(b)
			switch i % 4 {
			case 0: // hand-over
				out := make(chan won, 1)
				// Waited for below; ends when it leads.
				go func() {
					next, err := k.Await(w.Ctx)
					out <- won{lead: next, err: err}
				}()
				synctest.Wait()
				w.resign(l)
				w.resign(w.leads(out))
			case 1:
				require.NoError(w, k.Withdraw(w.Ctx))
				w.resign(l)
			case 2:
				ctx, cancel := context.WithTimeout(w.Ctx, time.Millisecond)
				_, err := k.Await(ctx)
				cancel()
				require.Error(w, err)
				require.NoError(w, k.Withdraw(w.Ctx))
				w.resign(l)
			case 3:
				require.Equal(w, "a", w.leaderID(b))
				for state, err := range b.Observe(w.Ctx) {
					require.NoError(w, err)
					require.Equal(w, "a", state.Leader.ID)
					break
				}
				w.resign(l)
				require.NoError(w, k.Withdraw(w.Ctx))
			}
		})
		require.Empty(w, w.Children(dir))
		require.Empty(w, w.Children(proclaimed))
	})
}
