package stm_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

func TestTransactionSeesItsOwnWrites(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/gone")
		var seen []string
		look := func(tx *stm.Tx, path string) {
			n, err := tx.Get(path)
			seen = append(seen, fmt.Sprintf("%s %v %s %v", n.Path, n.Exists, n.Data, err))
		}
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			seen = nil
			err := errors.Join(
				tx.Set("/a", []byte("1")), tx.Set("/a", []byte("2")), // without a read
				tx.Create("/b", []byte("3"), session.Persistent, nil), tx.Set("/b", []byte("4")),
				tx.Delete("/gone"), tx.Create("/gone", []byte("5"), session.Persistent, nil),
				tx.Put("/c", []byte("6")), tx.Delete("/c"),
			)
			for _, path := range []string{"/a", "/b", "/gone", "/c"} {
				look(tx, path)
			}
			return err
		})
		require.Equal(w, []string{"/a true 2 <nil>", "/b true 4 <nil>", "/gone true 5 <nil>", "/c false  <nil>"}, seen)
		require.Equal(w, []int{2, 4, 5}, []int{w.numberAt("/a"), w.numberAt("/b"), w.numberAt("/gone")})
		require.False(w, w.nodeExists("/c"))
	})
}

// Arguments and results are copies.
func TestDataIsCopied(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			data := []byte("1")
			err := tx.Create("/b", data, session.Persistent, nil)
			data[0] = 'x'
			n, err2 := tx.Get("/b")
			require.Equal(w, "1", string(n.Data))
			n.Data[0] = 'y'
			n, err3 := tx.Get("/b")
			require.Equal(w, "1", string(n.Data))
			data = []byte("2")
			err4 := tx.Set("/a", data)
			data[0] = 'x'
			return errors.Join(err, err2, err3, err4)
		})
		require.Equal(w, 1, w.numberAt("/b"))
		require.Equal(w, 2, w.numberAt("/a"))
	})
}

func TestWriteThatCannotBeIsRefusedWithItsPath(t *testing.T) {
	for name, tc := range map[string]struct {
		f    func(tx *stm.Tx) error
		want error
		says string
	}{
		"set of an absent one":            {func(tx *stm.Tx) error { return tx.Set("/none", nil) }, session.ErrNoNode, "/none"},
		"set of one that is known absent": {func(tx *stm.Tx) error { _, err := tx.Get("/none"); return errors.Join(err, tx.Set("/none", nil)) }, session.ErrNoNode, "/none"},
		"delete of an absent one":         {func(tx *stm.Tx) error { return tx.Delete("/none") }, session.ErrNoNode, "/none"},
		"delete of one that is known absent": {func(tx *stm.Tx) error {
			_, err := tx.Get("/none")
			return errors.Join(err, tx.Delete("/none"))
		}, session.ErrNoNode, "/none"},
		"delete twice":  {func(tx *stm.Tx) error { return errors.Join(tx.Delete("/a"), tx.Delete("/a")) }, session.ErrNoNode, "/a"},
		"create of one": {func(tx *stm.Tx) error { return tx.Create("/a", nil, session.Persistent, nil) }, session.ErrNodeExists, "/a"},
		"create of one that is known": {func(tx *stm.Tx) error {
			_, err := tx.Get("/a")
			return errors.Join(err, tx.Create("/a", nil, session.Persistent, nil))
		}, session.ErrNodeExists, "/a"},
		"create without a parent": {func(tx *stm.Tx) error { return tx.Put("/none/below", nil) }, session.ErrNoNode, "/none"},
		"delete with children":    {func(tx *stm.Tx) error { return tx.Delete("/dir") }, session.ErrNotEmpty, "/dir"},
		"delete of one that was read, with children": {func(tx *stm.Tx) error {
			_, err := tx.Get("/dir")
			return errors.Join(err, tx.Delete("/dir"))
		}, session.ErrNotEmpty, "/dir"},
		"sequential":                         {func(tx *stm.Tx) error { return tx.Create("/s", nil, session.PersistentSequential, nil) }, stm.ErrInvalidArgument, "/s"},
		"bad path":                           {func(tx *stm.Tx) error { return tx.Put("a", nil) }, stm.ErrInvalidArgument, "a"},
		"an error that the function ignores": {func(tx *stm.Tx) error { _, _ = tx.Get("a"); return nil }, stm.ErrInvalidArgument, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.createZeros("/a", "/b", "/dir", "/dir/child")
				txs := stm.New(w.Client(), markers, nil)
				err := txs.Apply(w.Ctx, func(tx *stm.Tx) error { return errors.Join(tx.Set("/b", []byte("1")), tc.f(tx)) })
				require.ErrorIs(w, err, tc.want)
				require.ErrorContains(w, err, "stm: apply "+markers)
				require.ErrorContains(w, err, tc.says)
				require.Zero(w, w.numberAt("/b"), "nothing was written")
				w.apply(txs, func(tx *stm.Tx) error { return add(tx, "/b", 1) })
			})
		})
	}
}

// A refusal by the server is reported only if the transaction's reads are
// current.
func TestRefusalThatIsDueToAStaleReadIsNotReported(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/mode")
		calls := 0
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			mode, err := tx.Get("/mode")
			if calls++; calls == 1 {
				require.NoError(w, w.Server.Set("/mode", []byte("1")))
				require.NoError(w, w.Server.Create("/x", nil))
			}
			if err == nil && number(mode.Data) == 0 {
				err = tx.Create("/x", nil, session.Persistent, nil) // exists since mode is 1
			}
			return err
		})
		require.Equal(w, 2, calls)
	})
}

func TestTxIsOfNoUseAfterItsCall(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		var kept *stm.Tx
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error { kept = tx; return add(tx, "/a", 1) })
		_, err := kept.Get("/a")
		require.ErrorIs(w, err, stm.ErrInvalidArgument)
		require.ErrorContains(w, err, "returned")
		require.ErrorIs(w, kept.Set("/a", nil), stm.ErrInvalidArgument)
		require.Equal(w, 1, w.numberAt("/a"))
	})
}

// After an error nothing is asked for any more.
func TestErrorOfAMethodIsThatOfAllThatFollow(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		client := w.Client()
		w.ResetStats()
		_ = stm.New(client, markers, nil).Apply(w.Ctx, func(tx *stm.Tx) error {
			_, first := tx.Get("a")
			_, err := tx.Get("/a")
			require.Equal(w, first, err)
			require.Equal(w, first, tx.Put("/a", nil))
			return first
		})
		require.Zero(w, w.Requests(client))
	})
}

// Also an invalid argument can be due to reads of two states.
func TestInvalidArgumentThatIsDueToAStaleReadIsNotReported(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b") // always the same
		calls := 0
		w.apply(stm.New(w.Client(), markers, nil), func(tx *stm.Tx) error {
			a, err := tx.Get("/a")
			if calls++; calls == 1 {
				require.NoError(w, w.Server.Set("/a", []byte("1")))
				require.NoError(w, w.Server.Set("/b", []byte("1")))
			}
			b, err2 := tx.Get("/b")
			if number(a.Data) != number(b.Data) {
				return tx.Set("no path", nil)
			}
			return errors.Join(err, err2)
		})
		require.Equal(w, 2, calls)
	})
}

func TestVersionThatMeansAnyIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a")
		require.NoError(w, w.Server.SetVersion("/a", -1))
		err := stm.New(w.Client(), markers, nil).Apply(w.Ctx, func(tx *stm.Tx) error { return add(tx, "/a", 1) })
		require.ErrorIs(w, err, stm.ErrVersion)
		require.ErrorContains(w, err, "/a")
	})
}

func TestTooLargeRequestIsRefusedAndNothingIsLost(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		txs := stm.New(w.Client(), markers, nil)
		big := bytes.Repeat([]byte("x"), 700_000)
		err := txs.Apply(w.Ctx, func(tx *stm.Tx) error { return errors.Join(tx.Put("/a", big), tx.Put("/b", big)) })
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.Zero(w, w.numberAt("/a"))
		w.apply(txs, move("/a", "/b", 1))
	})
}
