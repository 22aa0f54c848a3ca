package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session/internal/wire"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestGetsRefusesAWrongPathAndSendsNothing(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.srv.ResetStats()
		_, err := w.s.Gets(w.ctx, "/a", "b")
		require.ErrorContains(w, err, `b`)
		none, err := w.s.Gets(w.ctx)
		require.NoError(w, err)
		assert.Empty(w, none)
		assert.Zero(w, w.srv.Stats().Requests["multiRead"])
	})
}

func TestGetsOnAnOldServerSaysSo(t *testing.T) {
	inWorld(t, &zktest.Options{OldServer: true}, nil, func(w *world) {
		w.createNode("/a", "x")
		_, err := w.s.Gets(w.ctx, "/a")
		require.ErrorIs(w, err, ErrUnsupported)
	})
}

// Each would fit into an answer, all of them do not.
func TestGetsOfMoreThanTheClientAccepts(t *testing.T) {
	inWorld(t, nil, &Options{MaxReply: 4 << 10}, func(w *world) {
		var paths []string
		for i := range 5 {
			paths = append(paths, fmt.Sprintf("/%d", i))
			w.createNode(paths[i], string(make([]byte, 1000)))
		}
		_, err := w.s.Gets(w.ctx, paths...)
		require.ErrorIs(w, err, ErrReplyTooLarge)
		all, err := w.s.Gets(w.ctx, paths[:3]...)
		require.NoError(w, err)
		for _, r := range all {
			require.NoError(w, r.Err)
			assert.Len(w, r.Data, 1000)
		}
	})
}

// A read whose answer is lost is sent again.
func TestGetsWhoseAnswerIsLostIsSentAgain(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createNode("/a", "x")
		w.srv.FailNth(func(r zktest.Request) bool { return r.Op == "multiRead" }, 1, zktest.Action{Do: zktest.DropReplyHole})
		all, err := w.s.Gets(w.within(time.Minute), "/a")
		require.NoError(w, err)
		require.Equal(w, "x", string(all[0].Data))
	})
}

// A server or a proxy answers with fewer parts than requested.
func TestAnswerWithOtherPartsThanItsRequestIsAnError(t *testing.T) {
	none := []byte{255, 255, 255, 255, 1, 255, 255, 255, 255} // the end of the parts
	_, err := getsAnswer([]string{"/a"}, wire.NewDecoder(none))
	require.ErrorIs(t, err, errMisfit)
	_, err = getsAnswer([]string{"/a"}, wire.NewDecoder(none[:5]))
	require.Error(t, err, "the answer ends early")
	list := &partList{ops: []Op{CheckOp("/a", -1)}, parts: []Op{CheckOp("/a", -1)}, at: []int{0}}
	_, err = (*Session)(nil).txnAnswer(list, wire.CodeOK, wire.NewDecoder(none))
	require.ErrorIs(t, err, errMisfit)
	_, err = (*Session)(nil).txnAnswer(list, -101, wire.NewDecoder(nil))
	require.ErrorIs(t, err, ErrNoNode)
	out, err := getsAnswer(nil, wire.NewDecoder(none))
	require.NoError(t, err)
	require.Empty(t, out)
}
