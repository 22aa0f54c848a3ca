package stm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

func TestPeekedNodeIsNotACondition(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/hint")
		client := w.Client()
		txs, calls := stm.New(client, markers, nil), 0
		w.apply(txs, func(tx *stm.Tx) error {
			calls++
			require.NoError(w, add(tx, "/a", 1))
			nodes, err := tx.Peek("/a", "/hint", "/none")
			require.NoError(w, err)
			require.Equal(w, []bool{true, true, false}, []bool{nodes[0].Exists, nodes[1].Exists, nodes[2].Exists})
			require.Equal(w, "0", string(nodes[0].Data), "as the servers have it")
			_, names, err := tx.PeekChildren("/hint")
			require.NoError(w, err)
			require.Empty(w, names)
			require.NoError(w, w.Server.Set("/hint", []byte("9")))
			require.NoError(w, w.Server.Create("/hint/child", nil))
			return nil
		})
		require.Equal(w, 1, calls)
		require.Equal(w, 1, w.numberAt("/a"))

		w.ResetStats()
		w.apply(txs, func(tx *stm.Tx) error {
			n, names, err := tx.PeekChildren("/hint")
			require.Equal(w, []string{"child"}, names)
			require.Equal(w, 1, int(n.Stat.NumChildren))
			return err
		})
		require.Equal(w, 1, w.Requests(client), "there is nothing to prove")
		w.apply(txs, func(tx *stm.Tx) error {
			n, names, err := tx.PeekChildren("/none")
			require.False(w, n.Exists)
			require.Empty(w, names)
			return err
		})
		_, _, err := (*stm.Tx)(nil).PeekChildren("/a")
		require.ErrorIs(w, err, stm.ErrInvalidArgument)
		require.Nil(w, (*stm.Tx)(nil).Session())
		require.ErrorIs(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error { _, err := tx.Peek("none"); return err }), stm.ErrInvalidArgument)
	})
}

// A peeked znode can become a condition, whether present or absent.
func TestTransactionDependsOnWhatItHasPeeked(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/b")
		txs, calls := stm.New(w.Client(), markers, nil), 0
		w.apply(txs, func(tx *stm.Tx) error {
			nodes, err := tx.Peek("/a", "/b", "/none")
			require.NoError(w, err)
			require.NoError(w, tx.Depend(nodes...))
			require.NoError(w, tx.Depend(nodes[0]), "already known to the transaction")
			switch calls++; calls {
			case 1:
				require.NoError(w, w.Server.Set("/b", []byte("7")))
			case 2:
				require.NoError(w, w.Server.Create("/none", nil))
			}
			return tx.Set("/a", append(nodes[0].Data, nodes[1].Data...))
		})
		require.Equal(w, 3, calls)
		require.Equal(w, 7, w.numberAt("/a"))
		require.ErrorIs(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error {
			return tx.Depend(stm.Node{Path: "/a", Exists: true, Stat: session.Stat{Version: -1}})
		}), stm.ErrVersion)
		require.ErrorIs(w, txs.Apply(w.Ctx, func(tx *stm.Tx) error { return tx.Depend(stm.Node{}) }), stm.ErrInvalidArgument)
	})
}

// After a conflict, peeked values are not older than the conflicting change.
func TestPeekAfterAConflictIsFresh(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.createZeros("/a", "/hint")
		client, calls := w.Client(), 0
		w.Session(client)
		w.apply(stm.New(client, markers, nil), func(tx *stm.Tx) error {
			w.ResetStats()
			_, err := tx.Peek("/hint")
			require.NoError(w, err)
			if calls++; calls == 1 {
				_, err := tx.Get("/a")
				require.NoError(w, err)
				require.NoError(w, w.Server.Set("/a", []byte("3")))
			} else {
				require.Equal(w, 1, w.Server.Stats().Requests["sync"])
			}
			return tx.Set("/a", []byte("5"))
		})
		require.Equal(w, 2, calls)
	})
}

func TestEphemeralZnodesBelongToTheSessionOfTheTx(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client, owner := w.Client(), int64(0)
		w.apply(stm.New(client, markers, nil), func(tx *stm.Tx) error {
			owner = tx.Session().ID()
			return tx.Create("/c", nil, session.Ephemeral, nil)
		})
		n, err := w.Server.Get("/c")
		require.NoError(w, err)
		require.Equal(w, owner, n.EphemeralOwner)
	})
}
