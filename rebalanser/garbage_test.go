package rebalanser_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// The error of a group with an invalid record tells how to use the path again;
// a record of a newer format has its own error, and is left alone.
func TestGroupWithGarbageInItsRecordSaysTheWayOut(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		const path = "/groups-of-garbage"
		a := rebalanser.Open(w.Client(), path, nil)
		require.NoError(w, w.Server.Create(path, nil))
		for data, says := range map[string]string{
			"garbage":                      "set its data to the empty string",
			`{"format":1,"mode":"none"}`:   "set its data to the empty string",
			`{"format":2,"mode":["none"]}`: "format 2, this version supports",
		} {
			require.NoError(w, w.Server.Set(path, []byte(data)))
			for _, err := range []error{a.Create(w.Within(time.Minute)), second(a.Status(w.Within(time.Minute)))} {
				require.ErrorIs(w, err, rebalanser.ErrRecord)
				require.ErrorContains(w, err, says)
			}
			n, err := w.Server.Get(path)
			require.NoError(w, err)
			require.Equal(w, data, string(n.Data))
		}
		require.NoError(w, w.Server.Set(path, nil))
		require.NoError(w, a.Create(w.Within(time.Minute)))
		require.NoError(w, second(a.Status(w.Within(time.Minute))))
	})
}

// Garbage in the record of a group whose folders tell its mode blocks no name: the status
// lists the record, and the next member replaces it. A member of the other mode is refused.
func TestGarbageInTheRecordOfAGroupIsReplaced(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Settle()
		good, err := w.Server.Get(path)
		require.NoError(w, err)
		for _, data := range []string{"garbage", `{"format":1,"mode":"none"}`} {
			require.NoError(w, w.Server.Set(path, []byte(data)))
			require.Equal(w, []string{path}, w.unreadable(a))
			require.Len(w, w.status(a).Members, 1)
			other := rebalanser.GlobalBarrier
			if w.mode == other {
				other = rebalanser.ResourceBarrier
			}
			err = rebalanser.Open(w.Client(), path, &rebalanser.Options{Mode: other}).Create(w.Ctx)
			require.ErrorIs(w, err, rebalanser.ErrMode)
			w.has(path, data)
			c2 := w.node("c2", rebalanser.Options{}).run()
			w.Pass(time.Second)
			w.shared(4, c1, c2)
			w.has(path, string(good.Data))
			require.Empty(w, w.unreadable(a))
			c2.stop()
			w.Settle()
		}
		for _, dir := range []string{"epoch", "config"} { // so that two are damaged
			require.NoError(w, w.Server.Delete(path+"/"+dir))
		}
		require.NoError(w, w.Server.Set(path, []byte("garbage")))
		require.NoError(w, a.Create(w.Ctx))
		w.has(path, string(good.Data))
		c1.stop()
		for _, dir := range []string{"barriers", "status", "stopped"} {
			_ = w.Server.DeleteAll(path + "/" + dir) // of one mode each
		}
		require.NoError(w, w.Server.Set(path, []byte("garbage")))
		require.ErrorContains(w, a.Create(w.Ctx), "set its data to the empty string", "the folders do not tell the mode")
		w.has(path, "garbage")
	})
}

func second[T any](_ T, err error) error { return err }
