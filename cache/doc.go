// Package cache has local views of what is in ZooKeeper: of one znode, of a
// znode's children, of a whole subtree.
//
// # What it is
//
//	workers := cache.NewChildren(client, "/workers", cache.Bytes, nil)
//	go workers.Run(ctx) // ends with ctx
//	if err := workers.WaitSynced(ctx); err != nil {
//		return err
//	}
//	w, ok := workers.Get("worker-7") // never waits
//	for ev, err := range workers.Events(ctx) {
//		// a snapshot first, then each change
//	}
//
// [Value], [Children] and [Tree] are a [View] each: entries with decoded values,
// which [View.Run] keeps up to date by watches. Nothing is polled.
//
// # Guarantees
//
//   - Every state of a path that a view shows is one that the server had, and
//     they come in the server's order: a view never goes back, also not over a
//     lost connection, a move to another server, or a new session.
//   - Whatever changes is shown in the end, however many changes, lost
//     connections and lost sessions come in between. States that follow each
//     other faster than they can be read may be left out; that an entry was
//     deleted and created again is not, whichever way it is found out: it is
//     removed and added. (Of one that might not be read before, nobody can tell
//     which it was.)
//   - At any moment, in every snapshot and to every reader of events, the parent
//     of each entry of a Tree is an entry too. Between paths that are not each
//     other's parents a view is not a snapshot of the server: of two changes
//     that were made one after the other, or in one transaction, the second may
//     be shown first.
//   - An entry that cannot be decoded, or may not be read, has an Err, and
//     concerns nobody else.
//   - Events of one reader are complete: applied to the snapshot they give the
//     view. What waits for a slow reader is bounded.
//   - A view that has ended leaves no watch on the server.
//
// The initial load takes a persistent watch, a sync, a list, and one read per child,
// all under way together; up to 128 reads travel in one request (multiRead), as long
// as its answer is not expected to exceed 256 KiB. Nodes without children are not
// listed. A change takes one read, a deletion none. On a new connection each entry
// is compared by its stat, one request each, and read again only if its zxids differ;
// those of up to 1 KiB are read at once instead, together. The children of a node
// are listed again only if some have come or gone. Without persistent watches (see
// Compatibility) each read is a request.
//
// # How it is lost, and how you find out
//
// A view is never lost: while ZooKeeper is away it shows what it knew, and
// [View.Status] says how old that is. [Status.Synced] holds while it shows what
// the connected server shows; [Status.AsOf] is when that was last proved, by an
// answer or a ping, so a connection that has died silently shows there before
// anybody has noticed. Whoever must not act on old data compares [Status.Stale]
// with what he can bear; whoever must be sure asks the server.
//
// [View.Run] returns when its context ends, and when the view cannot go on. In the
// latter case [View.WaitSynced] and [View.Events] return as well, with the reason;
// otherwise they wait for the next Run.
//
// # Znodes
//
// This package writes nothing. What it reads may be anybody's, and the view's
// own path need not exist, nor any of its parents.
//
// # Failures
//
// Errors wrap ErrArgument, ErrRunning, the context's error and cause, or an error
// of package session: ErrClosed, ErrNoAuth if the view's own path may not be
// read, ErrReplyTooLarge if a list of children exceeds the client's
// Options.MaxReply (16 MiB, some hundred thousand children), or a znode's data,
// where servers take so much. A znode below the view's path that may not be read
// is an entry with Err; that it may be read now is noticed when it is written, or
// on the next connection, since ZooKeeper tells nobody of a changed access list.
// Servers from 3.8.4 and 3.9.2 on do not tell either that a znode comes, changes
// or goes that may not be read: there that, too, is noticed on the next connection
// only, and Synced does not know of it.
//
// # Compatibility
//
// ZooKeeper 3.6 and newer have persistent watches. With 3.5 each znode takes a
// watch of its own, and two if it can have children, whose lists are then read
// again whenever they change: everything holds, at a higher price. The same is
// done where the session has a subscription to the view's path that is not
// recursive. Value uses one-shot watches always, at no price.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run at a time.
// Decode and Filter run on the goroutine of Run, without locks.
package cache
