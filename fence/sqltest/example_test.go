//go:build unix

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/sqlfence"
)

// setReport writes the report, unless a newer holder has written it.
func setReport(ctx context.Context, db *sql.DB, tokens *sqlfence.Table, token fence.Token, text string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // without effect after the commit
	if err := tokens.Guard(ctx, tx, "report", token); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE report SET text = ?", text); err != nil {
		return err
	}
	return tx.Commit()
}

// The tokens of two holds; the holder of the first one is late.
func Example() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:example?mode=memory&cache=shared&_txlock=immediate")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	tokens := sqlfence.New(sqlfence.SQLite, nil)
	ddl, err := tokens.DDL()
	if err != nil {
		panic(err)
	}
	if _, err := db.ExecContext(ctx, ddl+"; CREATE TABLE report (text text); INSERT INTO report VALUES ('')"); err != nil {
		panic(err)
	}

	fmt.Println(setReport(ctx, db, tokens, fence.Token{Epoch: 1, Number: 7}, "by the first holder"))
	fmt.Println(setReport(ctx, db, tokens, fence.Token{Epoch: 1, Number: 9}, "by the second holder"))
	err = setReport(ctx, db, tokens, fence.Token{Epoch: 1, Number: 7}, "too late")
	fmt.Println(errors.Is(err, fence.ErrStale))
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// true
	// fence: write report: stale fencing token: token 1-7 is lower than 1-9, the highest seen
}
