package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// A client whose machine was suspended, which its monotonic clock does not count, asks the
// servers for the time again: in the next session, and if its wall clock tells of the
// suspension.
func TestPeriodAfterASuspensionOfTheMachine(t *testing.T) {
	const asleep = 2 * time.Hour
	for name, wake := range map[string]func(w *world.World, q *Queue){
		"the session is another": func(w *world.World, q *Queue) {
			q.clock.clock.wall = q.clock.clock.local.Round(0)
			w.Expire(q.client)
			w.Pass(time.Minute)
		},
		"the wall clock has moved": func(*world.World, *Queue) {},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				q := New(w.Client(), "/queue", nil)
				submit := func() (id string, isNew bool) {
					id, isNew, err := q.SubmitUnique(w.Within(time.Minute), Task{}, "k", time.Hour)
					require.NoError(w, err)
					return id, isNew
				}
				_, isNew := submit()
				require.True(w, isNew)
				_, isNew = submit()
				require.False(w, isNew)
				w.Pass(asleep)
				q.clock.clock.local = q.clock.clock.local.Add(asleep)
				wake(w, q)
				id, isNew := submit()
				require.True(w, isNew, "the period is another")
				in, err := q.Get(w.Ctx, id)
				require.NoError(w, err)
				require.Equal(w, time.Date(2000, 1, 1, 3, 0, 0, 0, time.UTC), in.KeyUntil)
			})
		})
	}
}
