// Package stm changes several znodes in one transaction: read, decide, write,
// and again if another client was faster. The package does for znodes what
// Software Transactional Memory does for the variables of a process, and
// concurrency.STM for the keys of etcd.
//
// # What it is
//
//	txs := stm.New(client, "/bank/transactions", nil)
//	err := txs.Apply(ctx, func(tx *stm.Tx) error {
//		from, err := tx.Get("/bank/alice")
//		if err != nil {
//			return err
//		}
//		balance, err := strconv.Atoi(string(from.Data))
//		if err != nil || balance < 10 {
//			return errors.Join(errNoMoney, err)
//		}
//		...
//		return tx.Set("/bank/alice", strconv.AppendInt(nil, int64(balance-10), 10))
//	})
//
// The function reads znodes and requests writes. The function must have no
// other effect, because it is called again when a znode that was read has
// changed. All its writes are applied in one ZooKeeper transaction, or none.
//
// # Guarantees
//
//   - A transaction is applied exactly once or not at all, whatever requests,
//     replies, connections, sessions and servers are lost. If the outcome
//     cannot be found out, the error wraps session.ErrUnknownOutcome; see
//     [Transactor.Apply].
//   - Transactions are linearizable, including transactions that only read or
//     that end with an error of the function: each takes effect at one moment
//     between its call and its return, and all its reads were true at this
//     moment.
//   - During a call the function can see znodes of two moments. Such a call decides
//     nothing: Apply calls the function again.
//   - A conflict means that another write was applied. So of any number of
//     clients one always succeeds; the others wait for random times, which grow
//     with their losses.
//   - A transaction without conflicts is one request in addition to its reads,
//     and the reads of a [Tx.GetAll] share a round trip. The first transaction
//     of a session sends one request more. A transaction without writes ends
//     with a request to prove its reads.
//
// # Limits
//
// ZooKeeper compares data versions, and nothing else. Therefore
//   - a znode that is deleted and created again between a read and the end of
//     the transaction, and then has the same version, is mistaken for the
//     former znode. Instead of deleting such znodes, keep them with empty data;
//   - a list of children cannot be a condition. Keep a number in the parent's
//     data, and raise the number with every change of the children;
//   - the absence of a znode is proved by creating and deleting it in the
//     transaction: watches on it and on its parent's children fire, and the
//     client needs both permissions. Absence cannot be proved below an
//     ephemeral znode, which has no children. A transaction without writes that
//     has read only a single absent znode reads this znode again instead,
//     behind a check.
//
// # Without markers
//
// A [Transactor] made by [NewIdempotent] has no markers: after a lost reply its
// function is called again, and recognizes the effect of the former attempt by
// its reads. This is enough for recipes whose data names the writing call, and
// for writes that may be applied twice.
//
// # Many writers
//
// With [Options.Combine], the transactions of concurrent calls of one Transactor share
// requests, and each call keeps its own outcome.
//
// With [Options.Queue], colliding writers queue up: n writers need a number of
// attempts proportional to n, not to its square. [Tx.Peek] and
// [Tx.PeekChildren] read without a condition, for znodes that change only
// together with a znode that is a condition.
//
// # How it is lost, and how you find out
//
// The package has no holds. To write only under a hold, pass its guard to
// [Tx.Guard].
//
// If the session is lost during a transaction, Apply continues in the next
// session as soon as it knows that the transaction was not applied and never
// will be. The marker tells, as long as the servers keep the former session.
// Afterwards, an existing znode that the transaction would have changed tells,
// if its zxids are still the same as at the read. The outcome is unknown if the
// marker is gone and all these znodes have changed, or if the transaction only
// creates znodes or writes without reads.
//
// # Znodes
//
// Paths may be anywhere. The folder passed to [New] has the markers: ephemeral
// znodes "_c_<uuid>-marker", as many for each client as its concurrent
// transactions. A transaction with writes also sets its marker; the marker's
// version tells later whether a transaction without a reply was applied.
// Markers go with their session. The folder is a container: the server deletes
// an empty container after a while.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrGuard, ErrConflicts, ErrVersion, the error
// and the cause of the context, or an error of package session. An error of the
// function is returned unchanged, unless a read has failed or the error wraps
// an error of a method of Tx.
//
// # Compatibility
//
// Znodes are those of the application: Curator's DistributedAtomicValue and SharedValue
// keep plain data, and transactions can share a path with both. Curator has transactions
// without reads and retries (CuratorOp). For a change of a single znode, package value takes
// fewer requests, and notices that the znode was deleted and created again.
//
// # Concurrency
//
// The methods of a [Transactor] may be called from any number of goroutines. A [Tx]
// belongs to one call of one function.
package stm
