package kubelock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Other data in the record's znode is no record, and is replaced; a deleted one is made again.
func TestRecordIsReplacedIfItIsUnreadable(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		empty, first, err := l.Get(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, record{}, *empty)
		require.NoError(w, w.Server.Create("/election", nil))
		require.NoError(w, w.Server.Create(recordPath, nil))
		admin := w.Session(w.Client())
		for _, data := range []string{"", "garbage", "1 /election\n{\"holderIdentity\":\"other\"}", "1 /a\n{\"leaderTransitions\":3,\"leaseDurationSeconds\":\"x\"}", "5 /a\n[]", "5 /a\nnull", "x /a\n{}", "5 a\n{}", "5 /a\n{\"holderIdentity\":5}", "0 /election\n{\"leaderTransitions\":\"x\"}"} {
			_, err := admin.Set(w.Ctx, recordPath, []byte(data), -1)
			require.NoError(w, err)
			r, raw, err := l.Get(w.Ctx)
			require.NoError(w, err, data)
			require.Equal(w, record{}, *r, data)
			require.NotEqual(w, first, raw)
		}
		require.NoError(w, l.Run(w.Ctx, func(ctx context.Context) error {
			for range 2 {
				require.NoError(w, l.Update(ctx, record{HolderIdentity: "me"}))
				r, before, err := l.Get(ctx)
				require.NoError(w, err)
				require.Equal(w, "me", r.HolderIdentity)
				require.NoError(w, l.Update(ctx, record{HolderIdentity: "me"}))
				_, after, err := l.Get(ctx)
				require.NoError(w, err)
				require.NotEqual(w, before, after, "each write is seen")
				require.NoError(w, w.Server.Delete(recordPath))
			}
			return nil
		}))
	})
}

// An Update is in progress when the function returns: it wins nothing that would stay.
func TestUpdateThatOutlivesRunLeavesNothing(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, 100*time.Millisecond)
		out := make(chan error, 1)
		require.NoError(w, l.Run(w.Ctx, func(context.Context) error {
			// Waited for below; ends with its requests.
			go func() { out <- l.Update(w.Ctx, record{HolderIdentity: "me"}) }()
			w.Pass(50 * time.Millisecond)
			return nil
		}))
		require.ErrorIs(w, <-out, kubelock.ErrNotRunning)
		require.Empty(w, w.Children(dir))
		w.Server.Heal()
	})
}

// The candidate is deleted right before the write, of which the client cannot know.
func TestWriteOfAFormerLeaderIsRefusedByTheServer(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		l := kubelock.New[record](w.Client(), dir, "me", nil)
		require.ErrorIs(w, l.Run(w.Ctx, func(ctx context.Context) error {
			require.NoError(w, l.Update(ctx, record{HolderIdentity: "me", LeaderTransitions: 1}))
			candidate := l.Held().(*election.Leadership).Path()
			w.Once(func(r zktest.Request) bool { return r.Op == "multi" }, func() { _ = w.Server.Delete(candidate) })
			require.Error(w, l.Update(w.Ctx, record{HolderIdentity: "me", LeaderTransitions: 2}))
			r, _, err := l.Get(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, record{LeaderTransitions: 1}, *r)
			return nil
		}), session.ErrLost)
	})
}

func TestLockDescribesItself(t *testing.T) {
	var events []string
	l := kubelock.New[record](nil, dir, "me", &kubelock.Options{OnEvent: func(e string) { events = append(events, e) }})
	require.Equal(t, "me", l.Identity())
	require.Equal(t, "zookeeper:"+dir, l.Describe())
	l.RecordEvent("became leader")
	kubelock.New[record](nil, dir, "me", nil).RecordEvent("not heard")
	require.Equal(t, []string{"became leader"}, events)
}
