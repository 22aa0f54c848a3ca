package workerctl_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The reply to a change of the size is lost, and another client sets another size, or the former
// size, before the first client is connected again: the change is not made again.
func TestScaleIsNotRepeatedOverAnotherSize(t *testing.T) {
	for name, x := range map[string]struct {
		fault zktest.Fault
		sizes []int // that others set
		want  error
		size  int
	}{
		"another size":                   {zktest.DropReplyHole, []int{3}, session.ErrUnknownOutcome, 3},
		"the former size":                {zktest.DropReplyHole, []int{2}, session.ErrUnknownOutcome, 2},
		"the same size":                  {zktest.DropReplyHole, []int{3, 5}, nil, 5},
		"no size":                        {zktest.DropReplyHole, nil, nil, 5},
		"another size before the change": {zktest.DropRequest, []int{3}, session.ErrUnknownOutcome, 3},
		"no change":                      {zktest.DropRequest, nil, nil, 5},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.submit(w.Client(), 2)
				c, events := w.ClientObserved(world.IsUnknown)
				j, theirs := w.attach(c), w.attach(w.Client())
				id := w.ID(c)
				w.Server.FailNth(func(r zktest.Request) bool { return r.Session == id && isChange(r) }, 1, zktest.Action{Do: x.fault})
				out := w.besideUnsettled(func(context.Context) (int64, error) { return 0, j.Scale(w.Within(5*time.Minute), 5) })
				w.Pass(time.Second)
				for _, n := range x.sizes {
					require.NoError(w, theirs.Scale(w.Ctx, n))
				}
				w.join(theirs, named("k")) // another change of the job
				err := (<-out).err
				require.ErrorIs(w, err, x.want)
				w.ToldUnknown(events, "job", j.Path(), "scale", err)
				require.Equal(w, x.size, w.info(theirs).Workers)
			})
		})
	}
}
