// Package cache has local views of ZooKeeper data: of one znode, of a znode's
// children, or of a whole subtree.
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
// [Value], [Children] and [Tree] are a [View] each: entries with decoded
// values, which [View.Run] keeps up to date by watches. Nothing is polled.
//
// # Guarantees
//
//   - Every state of a path that a view shows is a state that the server had,
//     in the server's order. A view never goes back, even over a lost
//     connection, a move to another server, or a new session.
//   - Every change is shown in the end, however many changes, lost connections
//     and lost sessions come in between. States that follow each other faster
//     than they can be read may be left out. A deletion followed by a new
//     creation is never left out: the entry is removed and added. (The
//     exception is an entry that could not be read before: no client can tell
//     the two znodes apart.)
//   - At any moment, in every snapshot and for every reader of events, the
//     parent of each entry of a Tree is an entry too. Paths that are not each
//     other's parents are not a common snapshot of the server: of two changes
//     that were made one after the other, or in one transaction, the second
//     may be shown first.
//   - An entry that cannot be decoded, or may not be read, has an Err, and
//     affects no other entry.
//   - The events of one reader are complete: applied to the snapshot, they
//     give the view. The events that wait for a slow reader are bounded.
//   - A view that has ended leaves no watch on the server.
//
// The initial load takes a persistent watch, a sync, a list, and one read per
// child, all in flight together. Up to 128 reads travel in one request
// (multiRead), as long as the expected reply does not exceed 256 KiB. Znodes
// without children are not listed. A change takes one read, a deletion none.
//
// On a new connection, each entry is compared by its stat with one request, and
// read again only if its zxids differ; entries of up to 1 KiB are read at once
// instead, together. The children of a znode are listed again only if some have
// come or gone. Without persistent watches (see Compatibility), each read is a
// request.
//
// # How it is lost, and how you find out
//
// A view is never lost. While ZooKeeper is away the view shows its last state,
// and [View.Status] reports the age of that state. [Status.Synced] is true while the
// view equals the tree of the connected server. [Status.AsOf] is the time of the last
// proof, by a reply or a ping, so a connection that has died silently is visible
// there before the client notices it. If your code must not act on old data, compare
// [Status.Stale] with the greatest age that it tolerates; if it must be certain, ask
// the server.
//
// [View.Run] returns nil when its context has ended: a view holds nothing that
// must be given back. Every other end is an error that wraps the failure: the view
// cannot continue. In that case [View.WaitSynced] and [View.Events] return as well,
// with the reason; otherwise they wait for the next Run.
//
// # Znodes
//
// This package writes nothing. The znodes that it reads may belong to any
// recipe, and the view's own path and its parents need not exist.
//
// # Failures
//
// Errors wrap ErrInvalidArgument, ErrRunning, the context's error and cause, or an
// error of package session: ErrClosed; ErrNoAuth if the view's own path may not
// be read; ErrReplyTooLarge if a list of children exceeds the client's
// Options.MaxReply (16 MiB, some hundred thousand children), or a znode's data
// does, where servers accept that much.
//
// A znode below the view's path that may not be read is an entry with Err. The
// view notices that the znode may be read again when the znode is written, or
// on the next connection, because ZooKeeper does not report a changed access
// list. Servers from 3.8.4 and 3.9.2 on do not report either that a znode which
// may not be read comes, changes or goes: the view notices this on the next
// connection only, and Synced does not know of it.
//
// # Compatibility
//
// ZooKeeper 3.6 and newer have persistent watches. With 3.5, each znode takes a
// watch of its own, and a second watch if the znode can have children, whose
// list is then read again after every change: all guarantees hold, at a higher
// price. The same is done where the session has a subscription to the view's
// path that is not recursive. Value always uses one-shot watches, at no extra
// price.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; one Run at a time.
// Decode and Filter run on the goroutine of Run, without locks.
package cache
