package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Dialect is the SQL of a database.
type Dialect int

// The dialects.
const (
	PostgreSQL Dialect = iota + 1
	SQLite
)

// DefaultTable is the name of the table of tokens, unless [Options] has another.
const DefaultTable = "fencing_tokens"

// Options of a [Table]; nil and the zero value mean all defaults.
type Options struct {
	// Table is the name of the table of tokens, which may have a schema: letters,
	// digits and "_", as in "app.tokens"; default: [DefaultTable].
	Table string
}

// Table is a table of tokens in the database of the user.
type Table struct {
	ddl, upsert, highest string
	err                  error // of an invalid argument
}

// names are the names of tables that need no quotes.
var names = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`) // read only

// New makes a Table for a dialect. New sends no statement; the first call of a method
// reports an invalid argument. o may be nil.
func New(dialect Dialect, o *Options) *Table {
	name := DefaultTable
	if o != nil && o.Table != "" {
		name = o.Table
	}
	t := &Table{}
	var places []any
	switch dialect {
	case PostgreSQL:
		places = []any{"$1", "$2", "$3"}
	case SQLite:
		places = []any{"?", "?", "?"}
	default:
		t.err = fmt.Errorf("%w: dialect must be PostgreSQL or SQLite, got %d", fence.ErrInvalidArgument, dialect)
		return t
	}
	if !names.MatchString(name) {
		t.err = fmt.Errorf("%w: Options.Table must have only letters, digits and _, got %.60q", fence.ErrInvalidArgument, name)
		return t
	}
	t.ddl = "CREATE TABLE IF NOT EXISTS " + name + ` (
	resource text PRIMARY KEY NOT NULL,
	epoch bigint NOT NULL CHECK (epoch > 0),
	number bigint NOT NULL CHECK (number > 0)
)`
	// An insert that finds the row of another transaction waits for the end of that
	// transaction, locks the row, and compares with the newest token. An update that
	// changes nothing would be cheaper to leave out, but keeps the row locked.
	t.upsert = fmt.Sprintf("INSERT INTO "+name+` AS seen (resource, epoch, number) VALUES (%s, %s, %s)
ON CONFLICT (resource) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
WHERE (seen.epoch, seen.number) <= (excluded.epoch, excluded.number)`, places...)
	t.highest = fmt.Sprintf("SELECT epoch, number FROM "+name+" WHERE resource = %s", places[0])
	return t
}

// DDL returns the statement that creates the table if it does not exist. Carry the
// statement out once, as a migration: PostgreSQL's IF NOT EXISTS can fail if two clients
// create the table at the same time.
func (t *Table) DDL() (string, error) {
	t = receiver.OrZero(t)
	if err := t.check(); err != nil {
		return "", fmt.Errorf("sqlfence: DDL: %w", err)
	}
	return t.ddl, nil
}

// Guard accepts token for resource if it is equal to or above the highest token that a
// committed transaction has had, and keeps the row of the resource locked until tx ends.
// Call Guard first in tx, and roll back after an error. A resource without a token accepts
// any. A waiting Guard ends with ctx.
//
// If a higher token was accepted, the error is a *fence.StaleError, which wraps
// fence.ErrStale. If token or resource is invalid, the error wraps
// fence.ErrInvalidArgument. Every other error is the database's: nothing is known of the
// token.
func (t *Table) Guard(ctx context.Context, tx *sql.Tx, resource string, token fence.Token) error {
	t = receiver.OrZero(t)
	err := t.check()
	switch {
	case err != nil:
	case tx == nil:
		err = fmt.Errorf("%w: tx is nil", fence.ErrInvalidArgument)
	case !utf8.ValidString(resource) || strings.ContainsRune(resource, 0):
		err = fmt.Errorf("%w: resource must be UTF-8 without NUL, got %.60q", fence.ErrInvalidArgument, resource)
	}
	if err != nil {
		return fmt.Errorf("sqlfence: guard %q: %w", resource, err)
	}
	if err := fence.Check(resource, token, fence.Token{}); err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, t.upsert, resource, token.Epoch, token.Number)
	if err != nil {
		return fmt.Errorf("sqlfence: guard %q: store the token: %w", resource, err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("sqlfence: guard %q: count the rows: %w", resource, err)
	case n == 1:
		return nil
	case n != 0:
		return fmt.Errorf("sqlfence: guard %q: the statement changed %d rows instead of one or none", resource, n)
	}
	return t.refuse(ctx, tx, resource, token)
}

// refuse returns the error of a token that the database has not accepted.
func (t *Table) refuse(ctx context.Context, tx *sql.Tx, resource string, token fence.Token) error {
	var highest fence.Token
	if err := tx.QueryRowContext(ctx, t.highest, resource).Scan(&highest.Epoch, &highest.Number); err != nil {
		return fmt.Errorf("sqlfence: guard %q: read the highest token: %w", resource, err)
	}
	if err := fence.Check(resource, token, highest); err != nil {
		return err
	}
	return fmt.Errorf("sqlfence: guard %q: the database has accepted no change of the row, although token %v is not lower than %v: "+
		"look for triggers and rules of the table", resource, token, highest)
}

// check is the first check of a method.
func (t *Table) check() error {
	if t.err == nil && t.upsert == "" {
		return fmt.Errorf("%w: it has no statements: make it with sqlfence.New", fence.ErrInvalidArgument)
	}
	return t.err
}
