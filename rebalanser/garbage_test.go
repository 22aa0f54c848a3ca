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

func second[T any](_ T, err error) error { return err }
