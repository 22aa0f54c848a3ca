//go:build unix

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence/internal/frozen"
)

// errAborted is the error of a transaction that the database has ended.
var errAborted = errors.New("aborted by the database")

// The process of a holder is frozen until another client holds and has written.
func TestALateWriteToADatabaseIsRefused(t *testing.T) {
	for _, driver := range []string{"sqlite", "pgx"} {
		for _, fenced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,fenced=%v", driver, fenced), func(t *testing.T) {
				var db *database
				refused := frozen.Case{
					Serve: func() string {
						db = create(t, driver, newDSN(t, driver))
						return db.dsn
					},
					Write: func(ctx context.Context, w frozen.Writer, value string) error {
						db, err := open(driver, w.Target)
						if err != nil {
							return err
						}
						defer db.Close()
						if !fenced {
							return update(ctx, db, value)
						}
						return db.write(ctx, "data", w.Token, value)
					},
				}.Run(t, frozen.InProcess(t))
				require.Equal(t, fenced, refused)
				if fenced {
					require.Equal(t, frozen.Next, db.value(t))
				} else {
					require.Equal(t, frozen.Late, db.value(t))
				}
			})
		}
	}
}

// newDSN is an empty database.
func newDSN(t *testing.T, driver string) string {
	t.Helper()
	if driver == "sqlite" {
		return sqliteDSN(t)
	}
	return startPostgres(t)
}

// A holder that is frozen inside of its transaction keeps the row locked. The setting of
// the package documentation lets the next holder in, and the late commit fails.
func TestAHolderFrozenInItsTransactionGivesTheRowBack(t *testing.T) {
	var db *database
	var tx interface{ Commit() error } // of the other process, which writes First in it
	refused := frozen.Case{
		Serve: func() string {
			db = create(t, "pgx", startPostgres(t)+"&idle_in_transaction_session_timeout=5000")
			return db.dsn
		},
		Write: func(ctx context.Context, w frozen.Writer, value string) error {
			if value == frozen.Late {
				if err := tx.Commit(); err != nil {
					return fmt.Errorf("%w: %w", errAborted, err)
				}
				return nil
			}
			db, err := open("pgx", w.Target)
			if err != nil {
				return err
			}
			if value == frozen.Next {
				defer db.Close()
				return db.write(ctx, "data", w.Token, value)
			}
			begun, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			tx = begun
			if err := db.tokens.Guard(ctx, begun, "data", w.Token); err != nil {
				return err
			}
			return update(ctx, begun, value)
		},
		Refusal: errAborted,
	}.Run(t, frozen.InProcess(t))
	require.True(t, refused)
	require.Equal(t, frozen.Next, db.value(t))
}
