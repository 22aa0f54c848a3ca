package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Servers do not report the creation of a result that the waiting client may
// not read: the client finds the result with its next read, and names the
// result.
func TestWaitForAnUnreadableResultIsRefused(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		inWorld(t, o, func(w *World) {
			id := w.submit(w.queue(), dispatch.Task{ID: "a"})
			out := make(chan error, 1)
			// Waited for below; ends with the context.
			go func() {
				_, err := w.queue().Wait(w.Within(time.Hour), id)
				out <- err
			}()
			w.Pass(time.Second)
			acl := &session.CreateOptions{ACL: session.WorldACL(session.PermAll &^ session.PermRead)}
			buckets := w.Children(path + "/results")
			require.Len(w, buckets, 1)
			result := path + "/results/" + buckets[0] + "/" + id
			_, err := w.Session(w.Client()).Create(w.Ctx, result, nil, session.Persistent, acl)
			require.NoError(w, err)
			w.Pass(2 * time.Minute)
			require.Len(w, out, 1)
			err = <-out
			require.ErrorIs(w, err, session.ErrNoAuth)
			require.ErrorContains(w, err, result)
			require.ErrorContains(w, err, "READ permission")
		})
	}
}
