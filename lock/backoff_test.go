package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A write that costs the connection each time is repeated with pauses.
func TestRepeatedNotesBackOff(t *testing.T) {
	for name, try := range map[string]func(*World, func(), context.Context) error{
		"the number of permits": func(w *World, cut func(), ctx context.Context) error {
			s := lock.NewSemaphore(w.Client(), dir, 3, nil)
			cut()
			_, err := s.Acquire(ctx, 1)
			return err
		},
		"held": func(w *World, cut func(), ctx context.Context) error {
			m := lock.New(w.Client(), dir, delayOptions())
			cut()
			_, err := m.Lock(ctx)
			return err
		},
		"free": func(w *World, cut func(), ctx context.Context) error {
			h := w.lock(lock.New(w.Client(), dir, delayOptions()))
			cut()
			return h.Unlock(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "free" {
				world.Needs(t, world.Resumes) // a release ends with the session
			}
			inWorld(t, nil, func(w *World) {
				w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
				heal := func() {}
				err := try(w, func() {
					heal = w.Server.OnRequest(func(r zktest.Request) zktest.Action {
						if r.Op == "setData" || r.Op == "multi" && !r.OnlyChecks {
							return zktest.Action{Do: zktest.CutBefore}
						}
						return zktest.Action{}
					})
				}, w.Within(30*time.Second))
				require.ErrorIs(w, err, context.DeadlineExceeded)
				sent := w.Server.Stats().Requests
				assert.Less(w, sent["setData"]+sent["multi"], 40)
				heal()
			})
		})
	}
}
