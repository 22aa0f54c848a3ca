// Package fence lets the receiver of a write refuse the writes of former holders. A
// former holder is a client that has lost a lock, or any other session.Held, and does
// not know it yet, because its process was paused.
//
// # What it is
//
// The writer makes a token, once per hold, and sends the token with each write:
//
//	issuer := fence.NewIssuer(client, "/fence/epoch", nil)
//	held, err := lock.New(client, "/locks/report", nil).Lock(ctx)
//	...
//	token, err := issuer.Token(ctx, held)
//
// The receiver remembers the highest token of each resource, and refuses a lower one in
// the same atomic step as the write:
//
//   - package sqlfence, for databases: in the transaction of the write
//   - package httpfence, for HTTP servers and clients
//   - package grpcfence, for gRPC servers and clients, a module of its own
//   - [Put] and [Update], for object stores with conditional writes
//   - [Memory], for data in the memory of a process
//   - session.Txn with held.Guard(), for znodes of the same ensemble: no token is
//     needed, because the ensemble itself knows who holds
//
// # The rule
//
// A token is an epoch and a number. Tokens are compared by epoch first, then by number.
// A receiver accepts a token equal to or above the highest that it has accepted for the
// resource, and refuses a lower one with [ErrStale]. A receiver that has seen no token
// for a resource accepts any.
//
// The number is held.Token(), a zxid. It grows with every grant at the same path, as long
// as the ensemble keeps its data. In an ensemble that was recreated empty, zxids begin
// again. With numbers alone, a receiver would refuse all new holders until the zxids have
// caught up, and meanwhile accept the old ones. The epoch is for this case. It is kept in
// a persistent znode, which goes with the ensemble's data:
//
//   - The first call of [Issuer.Token] on an ensemble without the znode creates the
//     znode. The new epoch is the present time, with random last digits.
//   - Issuer.Token reads the epoch, and proves the hold and the epoch in one transaction
//     of the session that has read: no token combines the epoch of one incarnation with
//     the number of another.
//   - After an ensemble was recreated empty, nothing needs to be done: the next epoch is
//     higher, because it was created later. The first write of a new holder makes the
//     receiver refuse all former holders.
//   - After an ensemble was restored from a backup, an operator must call [Issuer.Advance]
//     before the writers start, or run "zkr fence advance". The backup brings back the former epoch and lower zxids,
//     and no client can tell.
//
// # Guarantees
//
// After a receiver has accepted a token of a resource, it accepts no lower token for this
// resource. This needs these assumptions:
//
//   - All writers of a resource hold the same path, and use the same epoch's znode. Tokens
//     of different paths, and of different ensembles, do not compare.
//   - The receiver keeps its tokens as long as the data that they protect.
//   - Tokens come from an Issuer, and Advance was called after each restore.
//   - Two incarnations have different epochs: these are the same with a probability of
//     one in a million, if both were created in the same millisecond of their clocks.
//
// Safety needs no correct clock. A clock that is wrong by more than the age of the former
// incarnation, when an epoch is created, makes the new epoch the lower one: receivers then
// refuse the new holders, with an error that says so, until an operator calls Advance with
// the receivers' epoch. Receivers never accept old and new holders by turns.
//
// A receiver cannot know of a grant before the new holder's first write. A late write that
// arrives before is accepted, and is then part of the state that the new holder finds.
// Therefore a new holder whose writes depend on what it reads shows its token first: it
// reads in the same transaction as, and after, sqlfence's Guard, or by Update.
//
// A token is not a credential. A client that can write can also invent a token; receivers
// must authenticate writers as they would without tokens.
//
// An alternative to the znode is a number in the configuration of all writers:
// Token{Epoch: 3, Number: held.Token()}. The operator then raises the number with every
// recreation and every restore, and must not let a process with the former number get a
// hold afterwards.
//
// # How it is lost, and how you find out
//
// A token is valid as long as no higher token was accepted. A refused write has an error
// that wraps ErrStale: stop the work that belongs to the hold. [StaleError] has both tokens.
//
// # Znodes
//
// The path of an Issuer is a persistent znode, with the epoch as decimal text. Znodes
// above it are created if they are missing. If the znode is deleted, the next token creates
// it with a higher epoch; other holders are refused once a holder has written with the new
// epoch, until they call Issuer.Token again.
//
// # Failures
//
// Errors wrap ErrStale, ErrNoToken, ErrInvalidArgument, ErrCorruptEpoch,
// ErrVersionMismatch, the context's error and cause, or an error of package session, of
// the object store, or of the user's function. With an error that wraps ErrStale,
// ErrNoToken or ErrInvalidArgument, nothing was written.
//
// # Compatibility
//
// The text of a token is <epoch>-<number>, both in decimal: in headers, in metadata, and
// in the first line of an object. A receiver in another language compares the two numbers,
// which fit into 64 bits with sign, not the texts.
//
// # Concurrency
//
// All functions and methods may be called from any number of goroutines. No goroutine is
// started.
package fence
