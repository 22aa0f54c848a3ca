// Package node keeps a znode in existence: it is created again when it was deleted, or when
// its session was lost.
//
// # What it is
//
//	n := node.New(client, "/gateways/eu", session.Ephemeral, nil)
//	kept, err := n.Keep(ctx, []byte("10.0.0.7:80"))
//	if err != nil {
//		return err
//	}
//	defer kept.Release(context.WithoutCancel(ctx))
//
// The mode is any of package session: an ephemeral znode says that its keeper lives, a
// persistent one is a folder or a record that must exist, and a TTL znode outlives a
// restart of its keeper, but not its end. To announce an instance of a service or a member
// of a group, use package discovery.
//
// # Guarantees
//
//   - A [Kept] has one znode, even if replies are lost. In a sequential mode, the znode has
//     a unique name, by which Keep recognizes it. The number of a sequential znode changes
//     when the znode is created again.
//   - The data of the last [Kept.SetData] is set in the end: data that was requested
//     without a connection, or without a session, is not lost, and older data never
//     follows newer data of the same Kept, or of a later one of the same Node.
//   - A write of another client stays until the next SetData, or until the znode is created
//     again; both bring back the data of this Kept. Two keepers with different data
//     therefore do not write against each other.
//   - An ephemeral znode of another session is never overwritten or deleted. Keep adopts an
//     existing persistent, container or TTL znode, and does not change its mode.
//   - An ephemeral znode of a lost session is replaced in the next session, in one
//     transaction, without waiting until the servers expire the former session.
//   - [Kept.Release], and giving up, leave nothing behind but TTL znodes, which expire, and
//     znodes with children. See Failures for znodes that do not go with a session.
//   - A TTL znode exists as long as a keeper refreshes it, and is deleted after the TTL, plus
//     up to two of the intervals at which the servers look for expired znodes
//     (znode.container.checkIntervalMs, one minute by default).
//
// # How it is lost, and how you find out
//
// [Kept.State] and [Kept.States] say whether the znode exists at the moment, and if not,
// why. [Kept.Context] is for work that must stop when the znode is gone. The context of a
// znode that goes with a session ends before the servers can expire the session; for that,
// the session proves itself by heartbeats while it has such a znode (docs/performance.md).
//
// After a pause of the process, the Err of [Kept.Context] is correct at once, but that of a
// context derived from it may be nil for some hundred milliseconds: call
// session.ContextErr before a step that must not follow a loss.
//
// # Znodes
//
// The path itself, below containers; in a sequential mode "_c_<uuid>-<name><number>". A TTL
// znode has the child "touch", a TTL znode, which its keepers write three times in each
// TTL; the znode itself is not written, so that clients that watch it are not woken. If a
// keeper dies before it has created the child, the znode expires by its own TTL. Keepers
// of one path should have the same TTL: the child has that of the keeper that created it.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrConflict, the context's error and cause, or an error of
// package session. TTL znodes need servers that run with
// -Dzookeeper.extendedTypesEnabled=true; otherwise Keep fails with session.ErrUnsupported.
//
// A znode that goes with no session stays if the client is closed, or the process dies,
// before a Release has ended. If a session is given up during a write about such a znode,
// the next session waits until the servers have ended the former session, one and a half
// timeouts, before it writes again.
//
// No server says which client has created a znode without a session. If the reply to the
// creation is lost, Keep takes a znode with its data for its own, unless the znode existed
// before the call: a call that gives up then deletes the znode, even if another client has
// created it during the call.
//
// A keeper that may not read its znode can set the data like any other. Servers from 3.9.3
// on hide the version of the znode from such a keeper. After a write of another client,
// SetData and Release then fail with session.ErrNoAuth until the znode can be read, or is
// created again; a SetData whose reply was lost as well fails with
// session.ErrUnknownOutcome. A Release fails also if its connection was lost before the
// deletion arrived, unless the mode is sequential.
//
// A write depends on the version of a znode, not on its identity. If another client
// deletes the znode, and creates one of the same path before this client has heard of
// either, a SetData or a Release at that moment affects the other znode. A write that is
// retried after a lost connection never affects the other znode, unless the servers hide
// the version. If another client has written into the same znode since, a retried SetData
// replaces that data too.
//
// # Compatibility
//
// The znodes are those of Curator's PersistentNode, with protection in the sequential modes,
// and of its PersistentTtlNode; processes with either can keep the same znode. Differences:
// Curator overwrites foreign data at every reconnection, overwrites an ephemeral znode of
// another session, and creates a sequential znode again under its first number. Its TTL
// node is a container, which stays indefinitely if its process dies before the first touch.
// The dashboard shows a kept znode as any other, since no sign tells a kept znode from
// others.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Use one Node per path in a
// process: two of them, of one client, could take each other's ephemeral znode for their own
// after a lost reply.
//
// The client's observer receives each znode that goes with a session as a hold: the next
// znode after a loss is another hold. The observer receives no holds for znodes of other
// modes. The goroutine that keeps the znode calls the observer, which must therefore not wait
// for a SetData or a Release of the same Kept.
package node
