package rebalanser_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The reply to a change of the resources is lost, and another administrator changes resources
// before the first one is connected again: no change is made a second time over that.
func TestChangeOfResourcesIsNotRepeatedOverAnother(t *testing.T) {
	add := func(ctx context.Context, a *rebalanser.Admin, names ...string) ([]string, error) {
		return a.AddResources(ctx, names...)
	}
	remove := func(ctx context.Context, a *rebalanser.Admin, names ...string) ([]string, error) {
		return a.RemoveResources(ctx, names...)
	}
	type call = func(ctx context.Context, a *rebalanser.Admin, names ...string) ([]string, error)
	many := names(40)
	for name, x := range map[string]struct {
		fault  zktest.Fault
		call   call
		names  []string
		others []call
		of     string
		want   error
		after  bool // the resource "x" exists afterwards
	}{
		"added, removed":                {zktest.DropReplyHole, add, []string{"x"}, []call{remove}, "x", session.ErrUnknownOutcome, false},
		"added among many, removed":     {zktest.DropReplyHole, add, append([]string{"x"}, many...), []call{remove}, "x", session.ErrUnknownOutcome, false},
		"added, another one too":        {zktest.DropReplyHole, add, []string{"x"}, []call{add}, "y", nil, true},
		"not added":                     {zktest.DropRequest, add, []string{"x"}, nil, "", nil, true},
		"not added, another one is":     {zktest.DropRequest, add, []string{"x"}, []call{add}, "y", session.ErrUnknownOutcome, false},
		"removed, added":                {zktest.DropReplyHole, remove, []string{"x"}, []call{add}, "x", nil, true},
		"removed among many, added":     {zktest.DropReplyHole, remove, append([]string{"x"}, many...), []call{add}, "x", nil, true},
		"not removed, another one is":   {zktest.DropRequest, remove, []string{"x"}, []call{remove}, "r00", nil, false},
		"not removed, removed, added":   {zktest.DropRequest, remove, []string{"x"}, []call{remove, add}, "x", nil, true},
		"not removed, another is added": {zktest.DropRequest, remove, []string{"x"}, []call{add}, "y", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
				mine := w.admin() // c1
				theirs := w.stock(1)
				if strings.Contains(name, "removed") && !strings.HasPrefix(name, "added") {
					require.NoError(w, second(theirs.AddResources(w.Ctx, append([]string{"x"}, many...)...)))
				}
				w.Server.FailNth(func(r zktest.Request) bool {
					return r.Client == "c1" && r.Op == "multi" && slices.Contains(r.Paths, path+"/resources/x")
				}, 1, zktest.Action{Do: x.fault})
				done := make(chan error, 1)
				// Waited for below; ends with the call.
				go func() {
					_, err := x.call(w.Within(5*time.Minute), mine, x.names...)
					done <- err
				}()
				w.Pass(time.Second)
				for _, f := range x.others {
					require.NoError(w, second(f(w.Ctx, theirs, x.of)))
				}
				require.ErrorIs(w, <-done, x.want)
				all, err := theirs.Resources(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, x.after, slices.Contains(all, "x"))
				require.Equal(w, x.of == "y", slices.Contains(all, "y"))
			})
		})
	}
}
