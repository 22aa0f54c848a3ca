//go:build unix

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
	_ "modernc.org/sqlite"
)

// database is a database with a table of tokens, and the table "data" with one row.
type database struct {
	*sql.DB
	driver, dsn string
	tokens      *sqlfence.Table
}

// at is a token of epoch 1.
func at(number int64) fence.Token { return fence.Token{Epoch: 1, Number: number} }

// within is a context for a test on a real server.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// dialect is the dialect of a driver.
func dialect(driver string) sqlfence.Dialect {
	if driver == "sqlite" {
		return sqlfence.SQLite
	}
	return sqlfence.PostgreSQL
}

// open opens a database.
func open(driver, dsn string) (*database, error) {
	db, err := sql.Open(driver, dsn)
	return &database{db, driver, dsn, sqlfence.New(dialect(driver), nil)}, err
}

// create makes the tables, and removes former ones.
func create(t *testing.T, driver, dsn string) *database {
	t.Helper()
	db, err := open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	ddl, err := db.tokens.DDL()
	require.NoError(t, err)
	for _, statement := range []string{
		"DROP TABLE IF EXISTS " + sqlfence.DefaultTable, "DROP TABLE IF EXISTS data", ddl, ddl,
		"CREATE TABLE data (value text NOT NULL)", "INSERT INTO data VALUES ('')",
	} {
		_, err := db.ExecContext(within(t), statement)
		require.NoError(t, err, statement)
	}
	return db
}

// onEach runs a test on SQLite and on PostgreSQL, with each driver.
func onEach(t *testing.T, test func(t *testing.T, db *database)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, create(t, "sqlite", sqliteDSN(t))) })
	t.Run("postgres", func(t *testing.T) {
		dsn := startPostgres(t)
		for _, driver := range []string{"pgx", "postgres"} {
			t.Run(driver, func(t *testing.T) { test(t, create(t, driver, dsn)) })
		}
	})
}

// sqliteDSN is a new file, with transactions that are writers from their begin.
func sqliteDSN(t *testing.T) string {
	t.Helper()
	return "file:" + filepath.Join(t.TempDir(), "db") + "?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)"
}

// write is the user's transaction.
func (db *database) write(ctx context.Context, resource string, token fence.Token, value string) error {
	return db.writeAt(ctx, sql.LevelDefault, resource, token, value)
}

// writeAt is the user's transaction at a level of isolation.
func (db *database) writeAt(ctx context.Context, level sql.IsolationLevel, resource string, token fence.Token, value string) (err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if err := db.tokens.Guard(ctx, tx, resource, token); err != nil {
		return err
	}
	if err := update(ctx, tx, value); err != nil {
		return err
	}
	return tx.Commit()
}

// update is a write without a fence.
func update(ctx context.Context, by interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, value string) error {
	_, err := by.ExecContext(ctx, "UPDATE data SET value = '"+value+"'")
	return err
}

// value is the value of the row.
func (db *database) value(t *testing.T) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(within(t), "SELECT value FROM data").Scan(&value))
	return value
}
