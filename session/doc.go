// Package session connects to ZooKeeper and keeps a session that can be
// trusted.
//
// # What it is
//
//	connecting, cancel := context.WithTimeout(ctx, 15*time.Second)
//	defer cancel()
//	client, err := session.Connect(connecting, "zk1:2181,zk2:2181,zk3:2181/app", nil)
//	if err != nil {
//		return err
//	}
//	defer client.Close(context.WithoutCancel(ctx))
//
//	s, err := client.Session(ctx) // the present one
//	if err != nil {
//		return err
//	}
//	data, stat, err := s.Get(ctx, "/config") // it is /app/config at the servers
//
// A [Client] lives as long as its owner wants; a [Session] is one ZooKeeper
// session and dies with it. The client hands out the present session and makes
// the next one when it is lost. Operations are methods of the session, take a
// context, and wait while there is no connection. Recipes are built on this
// package alone; everything they use is exported.
//
// # Guarantees
//
//   - An operation that was begun in one session never takes effect in a later
//     one.
//   - Nothing is repeated blindly: a write whose answer was lost is found out
//     ([Session.CreateProtected], [Session.Discard]) or reported as an
//     [UnknownOutcomeError]; a request that was surely not sent is sent again.
//   - While something is held ([Session.Hold]), the session's context ends
//     before a server can expire the session, in every fault but a pause of
//     this process itself. After such a pause, Err of that context tells the
//     truth at once, and a guard ([Hold.Guard]) refuses what was written late.
//   - Reads of one session never go back in time, also not after a move to
//     another server.
//   - A watch is a hint: it fires at least when something has changed, when the
//     connection is lost and when the session ends. Read again, always.
//   - After [Client.Close] nothing runs, and nothing is left on the server that
//     does not go with the session.
//
// # How it is lost, and how you find out
//
// The context of a session, and those of its holds, end with a cause that wraps
// [ErrLost] and the reason: [ErrExpired], [ErrTrustRanOut], [ErrClosed] or
// [ErrAuthFailed]. A session whose trust ran out may still live on the servers
// for a while; it is closed, never resumed. A mere disconnect loses nothing:
// the state is Suspended, and the client moves to another server.
//
// # Trust
//
// The rule ([TrustQuorum]): a server that answers proves little, since a
// follower that is cut off from its leader answers pings and reads, and a
// leader that has lost its followers even answers a sync. Only what a quorum
// has committed proves that the session is alive where it matters. So while
// something is held, the session sends a heartbeat, a transaction that only
// checks that the held znodes exist; trust runs from the send time of a request
// that was answered early enough before such a transaction was sent. The
// assumptions: clocks that run at the same rate to within one in a thousand, and servers
// that grant no timeout below two ticks (or a known Options.TickTime). The
// figures are in docs/guarantees.md.
//
// # Znodes
//
// This package makes none but those that it is told to, and the chroot when
// [Session.EnsurePath] finds it missing.
//
// # Failures
//
// Errors wrap the server's verdict (ErrNoNode, ErrNodeExists, ...), the reason
// of a loss, or the context's error, and name operation and path.
//
// # Compatibility
//
// ZooKeeper 3.6 to 3.9; subscriptions need 3.6, the rest works with 3.5. The
// connection underneath is go-zookeeper's.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Functions that are
// handed in (hooks, a subscription's notify) run on the goroutine that reads
// the connection, and must not block.
package session
