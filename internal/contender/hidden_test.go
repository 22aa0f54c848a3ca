package contender_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// hiddenSpec is a contender whose znode no client may read.
func hiddenSpec() contender.Spec {
	sp := spec()
	sp.ACL = session.WorldACL(session.PermAll &^ session.PermRead)
	return sp
}

// inHidden runs body against servers that withhold the events of a znode from
// clients without read permission, and against servers that also refuse exists.
func inHidden(t *testing.T, body func(w *world)) {
	t.Helper()
	for _, o := range []zktest.Options{{}, {StatNeedsRead: true}} {
		inWorldOf(t, o, body)
	}
}

// A server would not report the deletion of the predecessor, so the wait must end
// at once. The error names the znode and the missing right.
func TestWaitBehindAnUnreadablePredecessorIsRefused(t *testing.T) {
	any := func(string) bool { return true }
	one := func(string) int { return 1 }
	for name, rule := range map[string]contender.Rule{
		"exclusive": contender.Exclusive, "weighted": contender.Weighted(1, one),
		"reader": contender.Reader(any), "writer": contender.Writer(any),
	} {
		t.Run(name, func(t *testing.T) {
			inHidden(t, func(w *world) {
				_, err := w.s.Create(w.ctx, dir, nil, session.Persistent, nil)
				require.NoError(w, err)
				first := w.enter(w.session(), hiddenSpec())
				sp := spec()
				sp.Rule = rule
				second := w.enter(w.s, sp)
				err = <-w.startAwait(second)
				require.ErrorIs(w, err, session.ErrNoAuth)
				require.ErrorContains(w, err, first.Node().Path)
				require.ErrorContains(w, err, "READ permission")
				require.NoError(w, second.Leave(w.ctx))
				require.Len(w, w.children(), 1)
			})
		})
	}
}

// The third in line also watches the holder.
func TestThirdBehindAnUnreadableHolderIsRefused(t *testing.T) {
	inHidden(t, func(w *world) {
		_, err := w.s.Create(w.ctx, dir, nil, session.Persistent, nil)
		require.NoError(w, err)
		first := w.enter(w.session(), hiddenSpec())
		w.enter(w.session(), spec())
		third := w.enter(w.s, spec())
		err = <-w.startAwait(third)
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.ErrorContains(w, err, first.Node().Path)
		require.NoError(w, third.Leave(w.ctx))
		synctest.Wait()
		require.Empty(w, w.srv.Watches())
	})
}

// Servers report neither a change of the predecessor's access list nor, afterwards,
// the predecessor's deletion: the contender notices the deletion on its next
// connection.
func TestPredecessorThatBecomesUnreadableIsMissedOnTheNextConnection(t *testing.T) {
	inHidden(t, func(w *world) {
		first, second := w.enter(w.session(), spec()), w.enter(w.s, spec())
		out := w.startAwait(second)
		_, err := w.s.SetACL(w.ctx, first.Node().Path, hiddenSpec().ACL, -1)
		require.NoError(w, err)
		require.NoError(w, first.Leave(w.ctx))
		synctest.Wait()
		require.Empty(w, out)
		w.srv.CutAll()
		require.NoError(w, <-out)
		require.NoError(w, second.Leave(w.ctx))
	})
}
