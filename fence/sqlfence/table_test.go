package sqlfence_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
)

// Tests with databases are in fence/sqltest, a module of its own because of the drivers.

func TestDDLIsTheSameForEachDialect(t *testing.T) {
	const want = `CREATE TABLE IF NOT EXISTS fencing_tokens (
	resource text PRIMARY KEY NOT NULL,
	epoch bigint NOT NULL CHECK (epoch > 0),
	number bigint NOT NULL CHECK (number > 0)
)`
	for _, dialect := range []sqlfence.Dialect{sqlfence.PostgreSQL, sqlfence.SQLite} {
		ddl, err := sqlfence.New(dialect, nil).DDL()
		require.NoError(t, err)
		require.Equal(t, want, ddl)
		ddl, err = sqlfence.New(dialect, &sqlfence.Options{Table: "app.Tokens_2"}).DDL()
		require.NoError(t, err)
		require.Contains(t, ddl, "EXISTS app.Tokens_2 (")
	}
}

func TestInvalidArgumentsOfATableAreErrorsOfTheFirstCall(t *testing.T) {
	token := fence.Token{Epoch: 1, Number: 1}
	for want, table := range map[string]*sqlfence.Table{
		"dialect must be PostgreSQL or SQLite, got 0": sqlfence.New(0, nil),
		"dialect must be PostgreSQL or SQLite, got 3": sqlfence.New(3, nil),
		`got "a; DROP TABLE b"`:                       sqlfence.New(sqlfence.SQLite, &sqlfence.Options{Table: "a; DROP TABLE b"}),
		`got "a.b.c"`:                                 sqlfence.New(sqlfence.SQLite, &sqlfence.Options{Table: "a.b.c"}),
		`got "1a"`:                                    sqlfence.New(sqlfence.PostgreSQL, &sqlfence.Options{Table: "1a"}),
		"make it with sqlfence.New":                   {},
		"it has no statements":                        nil,
	} {
		_, err := table.DDL()
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, want)
		err = table.Guard(t.Context(), &sql.Tx{}, "r", token)
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, want)
	}
	table := sqlfence.New(sqlfence.PostgreSQL, nil)
	for want, err := range map[string]error{
		"tx is nil":                table.Guard(t.Context(), nil, "r", token),
		"resource is empty":        table.Guard(t.Context(), &sql.Tx{}, "", token),
		"UTF-8 without NUL":        table.Guard(t.Context(), &sql.Tx{}, "a\x00b", token),
		`got "a\xff"`:              table.Guard(t.Context(), &sql.Tx{}, "a\xff", token),
		"epoch must be at least 1": table.Guard(t.Context(), &sql.Tx{}, "r", fence.Token{}),
	} {
		require.ErrorIs(t, err, fence.ErrInvalidArgument)
		require.ErrorContains(t, err, want)
		require.NotErrorIs(t, err, fence.ErrStale)
	}
}
