package stm_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// steady is the timeout of sessions that must survive.
const steady = 30 * time.Second

// Transactions need conditions on versions and on absence, and several
// operations on one znode in one transaction; Apache's server supports both.
func TestConditionsOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	client := world.Connect(t, cluster.Connect(), session.Options{Timeout: steady})
	other, err := client.Session(t.Context())
	require.NoError(t, err)
	txs := stm.New(client, "/conditions/markers", nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(t, txs.Apply(ctx, func(tx *stm.Tx) error {
		return errors.Join(tx.Put("/conditions/a", text(1)), tx.Put("/conditions/b", text(2)))
	}))

	calls := 0
	require.NoError(t, txs.Apply(ctx, func(tx *stm.Tx) error {
		nodes, err := tx.GetAll("/conditions/a", "/conditions/none", "/conditions/none/below")
		if err != nil {
			return err
		}
		switch calls++; calls {
		case 1:
			_, err = other.Set(ctx, "/conditions/a", text(10), -1)
		case 2:
			_, err = other.Create(ctx, "/conditions/none", text(5), session.Persistent, nil)
		case 3:
			_, err = other.Create(ctx, "/conditions/none/below", text(6), session.Persistent, nil)
		}
		sum := number(nodes[0].Data) + number(nodes[1].Data) + number(nodes[2].Data)
		return errors.Join(err, tx.Delete("/conditions/b"), tx.Create("/conditions/b", text(sum), session.Persistent, nil))
	}))
	require.Equal(t, 4, calls)
	data, _, err := other.Get(ctx, "/conditions/b")
	require.NoError(t, err)
	require.Equal(t, 21, number(data))
	_, stat, err := other.Get(ctx, "/conditions")
	require.NoError(t, err)
	require.EqualValues(t, 4, stat.NumChildren, "the znodes of the absence checks have gone")

	err = txs.Apply(ctx, func(tx *stm.Tx) error { return tx.Delete("/conditions/none") })
	require.ErrorIs(t, err, session.ErrNotEmpty)
}

// Transfers among accounts in real time, on a server that is killed, paused and restarted.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	blows := 3
	if testing.Short() {
		blows = 1
	}
	var txs []*stm.Transactor
	for range 4 {
		client := world.Connect(t, cluster.Connect(), session.Options{Timeout: 2 * time.Second})
		txs = append(txs, stm.New(client, "/markers", nil))
	}
	accounts := []string{"/a", "/b", "/c"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	count := map[fate]int{}
	var all sync.WaitGroup
	for i := range txs {
		own := rand.New(rand.NewPCG(uint64(i), 2))
		// Waited for below; ends with ctx.
		all.Go(func() {
			for ctx.Err() == nil {
				wait, stop := context.WithTimeout(ctx, time.Duration(own.Int64N(int64(3*time.Second))))
				from := own.IntN(3)
				err := txs[i].Apply(wait, move(accounts[from], accounts[(from+1+own.IntN(2))%3], 1+own.IntN(9)))
				ended := wait.Err() != nil
				stop()
				mu.Lock()
				count[history.FateOf(err)]++
				mu.Unlock()
				if err != nil && !ended && !errors.Is(err, session.ErrLost) {
					t.Error(err)
				}
				world.SleepContext(ctx, time.Duration(own.Int64N(int64(10*time.Millisecond))))
			}
		})
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(1, 3)), blows, func() int {
		mu.Lock()
		defer mu.Unlock()
		return count[once]
	})
	cancel()
	all.Wait()
	wait, stop := context.WithTimeout(t.Context(), 2*world.Patience)
	defer stop()
	sum, changes := 0, 0
	require.NoError(t, world.RetryLost(wait, func() error {
		return txs[0].Apply(wait, func(tx *stm.Tx) error {
			nodes, err := tx.GetAll(accounts...)
			sum, changes = 0, 0
			for _, n := range nodes {
				sum += number(n.Data)
				changes += int(n.Stat.Version)
			}
			return err
		})
	}))
	require.Zero(t, sum, "a transaction was applied by half")
	// Each transaction changes two znodes; up to three of the changes are creations.
	require.GreaterOrEqual(t, changes+3, 2*count[once])
	require.LessOrEqual(t, changes, 2*(count[once]+count[maybe]))
	t.Logf("%d applied, %d not, %d unknown", count[once], count[never], count[maybe])
}
