// Package stm changes several znodes in one transaction: read, decide, write, and again
// if another client was faster. It is what Software Transactional Memory is to the
// variables of a process, and what concurrency.STM is to the keys of etcd.
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
// The function reads znodes and asks for writes; it has no other effect, since it is
// called again when something that it has read has changed. All its writes are applied in
// one ZooKeeper transaction, or none.
//
// # Guarantees
//
//   - A transaction is applied exactly once or not at all, whatever requests, replies,
//     connections, sessions and servers are lost. If nobody can know which, the error
//     wraps session.ErrUnknownOutcome; see [Transactor.Apply].
//   - Transactions are linearizable, those that only read and those that end with an
//     error of the function included: each takes effect at one moment between its call
//     and its return, and what it has read was true at that moment.
//   - During a call the function can see znodes of two moments. Such a call decides
//     nothing: Apply calls the function again.
//   - A conflict means that another write was applied. So of any number of clients one
//     always succeeds; the others wait for a random time that grows with their losses.
//   - One transaction without conflicts is one request beside its reads, and reads by
//     one [Tx.GetAll] share a round trip. The first transaction of a session sends one
//     request more. A transaction without writes ends with one request, which proves
//     its reads.
//
// # What it cannot do
//
// ZooKeeper compares data versions, and nothing else. Therefore
//   - a znode that is deleted and created again between a read and the end of the
//     transaction, and then has the same version, is taken for the one that was read.
//     Where znodes come and go, let them stay, with empty data, instead of deleting them;
//   - a list of children cannot be a condition. Keep a number in the parent's data that
//     every change of the children raises;
//   - the absence of a znode is proved by creating and deleting it in the transaction:
//     watches on it and on its parent's children fire, and the client needs the right to
//     do both. It cannot be proved below an ephemeral znode, which has no children. A
//     transaction that writes nothing, and has read nothing but one absent znode, reads
//     that znode again instead, behind a check.
//
// # Without markers
//
// A [Transactor] made by [NewIdempotent] has no markers: after a lost reply its
// function is called again, and recognizes from its reads what the former attempt has
// done. Recipes whose data names the call that wrote it, and writes that may be applied
// twice, need no more.
//
// # Many writers
//
// With [Options.Queue], writers that collide queue up: n of them need a number of attempts
// that grows with n, not with its square. [Tx.Peek] and [Tx.PeekChildren] read without a
// condition, for what changes only together with a znode that is a condition.
//
// # How it is lost, and how you find out
//
// Nothing is held. To write only while something is held, pass its guard to [Tx.Guard].
//
// If the session is lost over a transaction, Apply goes on in the next session as soon as
// it knows that the transaction was not applied and never will be: the marker tells, as
// long as the servers keep the former session; afterwards a znode tells that existed, that
// the transaction was to change, and that still has the zxids that were read. If the
// marker is gone and all those znodes have changed, or the transaction was only to create
// znodes or to write without a read, the outcome is unknown.
//
// # Znodes
//
// Paths may be anywhere. The folder that is passed to [New] has the markers: ephemeral
// znodes "_c_<uuid>-marker", as many for each client as it has transactions at a time. A
// transaction that writes sets its marker too, whose version tells later whether a
// transaction without a reply was applied. Markers go with their session. The folder is a
// container: the server deletes it when it has been empty for a while.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrGuard, ErrConflicts, ErrVersion, the error and the
// cause of the context, or an error of package session. An error of the function is
// returned as it is, unless a read has failed or the error wraps that of a method of Tx.
//
// # Compatibility
//
// Znodes are those of the application: Curator's DistributedAtomicValue and SharedValue
// keep plain data, and transactions can share a path with both. Curator has transactions
// without reads and retries (CuratorOp).
//
// # Concurrency
//
// The methods of a [Transactor] may be called from any number of goroutines. A [Tx]
// belongs to one call of one function.
package stm
