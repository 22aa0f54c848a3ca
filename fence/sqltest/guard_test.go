//go:build unix

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
)

func TestGuardRefusesALowerToken(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		ctx := within(t)
		for _, token := range []fence.Token{at(5), at(5), at(6), {Epoch: 2, Number: 1}, {Epoch: math.MaxInt64, Number: math.MaxInt64}} {
			require.NoError(t, db.write(ctx, "r", token, token.String()))
			require.Equal(t, token.String(), db.value(t))
			for _, lower := range []fence.Token{at(1), at(4), {Epoch: token.Epoch, Number: token.Number - 1}} {
				if lower.Compare(token) >= 0 || lower.Validate() != nil {
					continue
				}
				err := db.write(ctx, "r", lower, "too late")
				var stale *fence.StaleError
				require.ErrorAs(t, err, &stale)
				require.ErrorIs(t, err, fence.ErrStale)
				require.Equal(t, &fence.StaleError{Resource: "r", Token: lower, Highest: token}, stale)
				require.Equal(t, token.String(), db.value(t))
			}
		}
		require.NoError(t, db.write(ctx, "other", at(1), "other"))
		require.NoError(t, db.write(ctx, `a"b'c;-- ünï`, at(1), "strange"))
		require.ErrorIs(t, db.write(ctx, "r", at(6), ""), fence.ErrStale)
	})
}

// A transaction that is rolled back leaves neither its write nor its token.
func TestATokenIsAsDurableAsItsWrite(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		ctx := within(t)
		tx, err := db.BeginTx(ctx, nil)
		require.NoError(t, err)
		require.NoError(t, db.tokens.Guard(ctx, tx, "r", at(9)))
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.write(ctx, "r", at(5), "five"))
		require.Equal(t, "five", db.value(t))
	})
}

// The error tells a stale token from a database that is broken.
func TestABrokenDatabaseIsNotAStaleToken(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		_, err := db.ExecContext(within(t), "DROP TABLE fencing_tokens")
		require.NoError(t, err)
		err = db.write(within(t), "r", at(5), "x")
		require.Error(t, err)
		require.NotErrorIs(t, err, fence.ErrStale)
		require.NotErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, `sqlfence: guard "r": store the token: `)
		require.Empty(t, db.value(t))
	})
}

// Two first writes at the same time: the row of neither is visible to the other.
func TestFirstWritesOfAResourceWaitForOneAnother(t *testing.T) {
	for _, c := range []struct{ first, second int64 }{{5, 6}, {6, 5}, {5, 5}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			db := create(t, "pgx", startPostgres(t))
			testOverlap(t, db, c.first, c.second)
		})
	}
}

// Each pair of transactions at the same time, with a row that exists.
func TestATransactionWaitsForTheOneBefore(t *testing.T) {
	for _, c := range []struct{ first, second int64 }{{5, 6}, {6, 5}, {5, 5}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			db := create(t, "pgx", startPostgres(t))
			require.NoError(t, db.write(within(t), "r", at(1), "one"))
			testOverlap(t, db, c.first, c.second)
		})
	}
}

// testOverlap begins a transaction and, before its end, another one, which must wait.
func testOverlap(t *testing.T, db *database, first, second int64) {
	t.Helper()
	ctx := within(t)
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, db.tokens.Guard(ctx, tx, "r", at(first)))
	ended := make(chan error, 1)
	// Waited for below; ends with its transaction.
	go func() { ended <- db.write(ctx, "r", at(second), "second") }()
	awaitBlocked(ctx, t, db)
	require.NoError(t, update(ctx, tx, "first"))
	require.NoError(t, tx.Commit())
	err = <-ended
	if second < first {
		require.ErrorIs(t, err, fence.ErrStale)
		require.Equal(t, "first", db.value(t))
		return
	}
	require.NoError(t, err)
	require.Equal(t, "second", db.value(t))
}

// awaitBlocked waits until PostgreSQL says that a transaction waits for another one.
func awaitBlocked(ctx context.Context, t *testing.T, db *database) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n == 1
	}, 20*time.Second, 5*time.Millisecond)
}

// At higher levels of isolation a conflict is an error of the database, to be retried.
func TestAConflictAtAHigherLevelIsNotStale(t *testing.T) {
	db := create(t, "pgx", startPostgres(t))
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		ctx := within(t)
		resource := level.String()
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
		require.NoError(t, err)
		_, err = tx.ExecContext(ctx, "SELECT * FROM data") // takes the snapshot
		require.NoError(t, err)
		require.NoError(t, db.write(ctx, resource, at(6), "new"))
		err = db.tokens.Guard(ctx, tx, resource, at(5))
		require.Error(t, err)
		require.NotErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "40001")
		require.NoError(t, tx.Rollback())
		require.ErrorIs(t, db.writeAt(ctx, level, resource, at(5), "too late"), fence.ErrStale, "after a retry")
	}
}

func TestAWaitingGuardEndsWithItsContext(t *testing.T) {
	dsn := startPostgres(t)
	for _, driver := range []string{"pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			db := create(t, driver, dsn)
			ctx := within(t)
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, db.tokens.Guard(ctx, tx, "r", at(5)))
			waiting, cancel := context.WithCancel(ctx)
			ended := make(chan error, 1)
			// Waited for below; ends with its context.
			go func() { ended <- db.write(waiting, "r", at(6), "new") }()
			awaitBlocked(ctx, t, db)
			cancel()
			err = <-ended
			require.Error(t, err)
			require.NotErrorIs(t, err, fence.ErrStale)
			require.NoError(t, update(ctx, tx, "first"))
			require.NoError(t, tx.Commit())
			require.Equal(t, "first", db.value(t))
		})
	}
}

// A transaction of SQLite that has read before another one wrote cannot write any more.
func TestAConflictOnSQLiteIsNotStale(t *testing.T) {
	ctx := within(t)
	db := create(t, "sqlite", strings.Replace(sqliteDSN(t), "immediate", "deferred", 1))
	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	var value string
	require.NoError(t, tx.QueryRowContext(ctx, "SELECT value FROM data").Scan(&value))
	require.NoError(t, db.write(ctx, "r", at(6), "new"))
	err = db.tokens.Guard(ctx, tx, "r", at(5))
	require.Error(t, err)
	require.NotErrorIs(t, err, fence.ErrStale)
	require.NoError(t, tx.Rollback())
	require.ErrorIs(t, db.write(ctx, "r", at(5), "too late"), fence.ErrStale, "after a retry")
	require.Equal(t, "new", db.value(t))
}

// Writers with random tokens: the tokens of committed transactions never go down. The
// transaction itself writes its token into the history, in the order of the commits.
func TestGuardUnderStress(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		ctx := within(t)
		id := "INTEGER PRIMARY KEY AUTOINCREMENT"
		if db.driver != "sqlite" {
			id = "bigserial PRIMARY KEY"
		}
		for _, statement := range []string{"DROP TABLE IF EXISTS history", "CREATE TABLE history (id " + id + ", resource text, epoch bigint, number bigint)"} {
			_, err := db.ExecContext(ctx, statement)
			require.NoError(t, err)
		}
		var wg sync.WaitGroup
		for seed := range uint64(6) {
			// Waited for below; ends after its transactions.
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, 2))
				for n := range int64(60) {
					token := fence.Token{Epoch: 1 + n/25, Number: 1 + r.Int64N(n+1)}
					err := db.record(ctx, []string{"a", "b"}[r.IntN(2)], token)
					if err != nil && !errors.Is(err, fence.ErrStale) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, resource := range []string{"a", "b"} {
			rows, err := db.QueryContext(ctx, "SELECT epoch, number FROM history WHERE resource = '"+resource+"' ORDER BY id")
			require.NoError(t, err)
			var last fence.Token
			n := 0
			for rows.Next() {
				var token fence.Token
				require.NoError(t, rows.Scan(&token.Epoch, &token.Number))
				require.LessOrEqual(t, last.Compare(token), 0, "%v, then %v", last, token)
				last = token
				n++
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
			require.Greater(t, n, 10)
		}
	})
}

// record writes the token itself.
func (db *database) record(ctx context.Context, resource string, token fence.Token) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = db.tokens.Guard(ctx, tx, resource, token)
	if err == nil {
		_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO history (resource, epoch, number) VALUES ('%s', %d, %d)", resource, token.Epoch, token.Number))
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
