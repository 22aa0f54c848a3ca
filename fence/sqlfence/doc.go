// Package sqlfence refuses late writes to a database: the check of the fencing token and
// the write are one transaction.
//
// # What it is
//
//	tokens := sqlfence.New(sqlfence.PostgreSQL, nil)
//	tx, err := db.BeginTx(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer tx.Rollback()
//	if err := tokens.Guard(ctx, tx, "report", token); err != nil {
//		return err // wraps fence.ErrStale: a newer holder has written
//	}
//	if _, err := tx.ExecContext(ctx, "UPDATE report SET ..."); err != nil {
//		return err
//	}
//	return tx.Commit()
//
// The tokens are in a table of the same database, with one row per resource. [Table.DDL]
// is its definition.
//
// # Guarantees
//
// Once a transaction with a token has committed, no transaction with a lower token of the
// same resource commits, if it called Guard. Guard locks the row of the resource until the
// transaction ends. Therefore transactions of one resource run one after another, and those
// of different resources run concurrently. This is true at each isolation level of
// PostgreSQL, and in each journal mode of SQLite.
//
// Call Guard first: then what the transaction reads was written by no later holder, and two
// transactions cannot deadlock over the row. A new holder whose writes depend on what it
// reads also reads in a transaction behind Guard, and no late write of a former holder can
// come between. A token is as durable as the write: a database that loses its last
// transactions, such as an asynchronous replica after a failover, loses tokens too, and then
// accepts late writes of the lost time.
//
// Do not delete rows: the next token of any height would be accepted.
//
// # How it is lost, and how you find out
//
// The error of Guard wraps fence.ErrStale, and is a *fence.StaleError with both tokens.
// Roll the transaction back. Every other error says that the check could not be made: a
// lost connection, a serialization failure (SQLSTATE 40001), a busy SQLite. Roll back, and
// retry the transaction as you would without a fence.
//
// A holder that is frozen inside of its transaction keeps the row locked, and the next
// holder waits until the database ends that transaction. Its kernel still answers for the
// frozen process, so no keep-alive ends the connection. On PostgreSQL set
// idle_in_transaction_session_timeout for the role of the writers, for example to the
// session timeout of ZooKeeper; the default is to wait indefinitely. SQLite has no such
// setting: every writer of the file waits as long as the frozen process lives.
//
// # Znodes
//
// None; see package fence.
//
// # Failures
//
// Errors wrap fence.ErrStale, fence.ErrInvalidArgument, the context's error, or the error
// of the driver. After ErrStale and ErrInvalidArgument the transaction is still usable, and
// must be rolled back by the caller.
//
// # Compatibility
//
// PostgreSQL from 9.5, and SQLite from 3.24, with any driver of database/sql. Other
// databases need their own statement; fence.Check has the rule.
//
// # Concurrency
//
// A Table may be used from any number of goroutines; a transaction may not.
package sqlfence
