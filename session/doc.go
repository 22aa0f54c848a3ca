// Package session connects to ZooKeeper, and keeps a session whose loss is
// reported in time.
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
//	s, err := client.Session(ctx) // the present session
//	if err != nil {
//		return err
//	}
//	data, stat, err := s.Get(ctx, "/config") // reads /app/config at the servers
//
// A [Client] lives as long as its owner wants. A [Session] is one ZooKeeper
// session and ends with it. The client returns the present session, and makes
// the next session after a loss. Operations are methods of the session, take a
// context, and wait while the session has no connection. Recipes are built on
// this package alone, and use only what this package exports.
//
// # Guarantees
//
//   - An operation never takes effect in a later session than the session in
//     which the operation began.
//   - No write is retried blindly. If the reply to a write is lost, the
//     library finds out the outcome ([Session.CreateProtected],
//     [Session.EnsureDeleted]), or reports the outcome as unknown
//     ([UnknownOutcomeError]). A request that was certainly not sent is sent
//     again.
//   - While something is held ([Session.Hold]), the session's context ends
//     before a server can expire the session, in every fault that the
//     assumptions below cover, except a pause of this process. After such a
//     pause, Err of that context is correct at once, and a guard ([Hold.Guard])
//     refuses late writes. A derived context, as from context.WithTimeout or an
//     HTTP or SQL client, may look alive for some hundred milliseconds more:
//     call [ContextErr].
//   - The context of a hold also ends when another client deletes its znode:
//     within a heartbeat, or with the next connection, and so perhaps after the
//     servers have granted the hold to another client.
//   - Reads of one session never go back in time, even after a move to another
//     server. Reads may be behind writes of other clients; [Session.ReadFresh]
//     reads a state that includes everything committed before the call.
//   - A watch is a hint: it fires when something has changed, when the
//     connection is lost, and when the session ends. Always read again.
//   - [Client.Close] waits for deletions in the background, and ends the
//     session; no goroutine runs afterwards. Znodes that do not go with a
//     session stay, as far as no recipe has deleted them before.
//
// # How it is lost, and how you find out
//
// The context of a session, and the contexts of its holds, end with a cause
// that wraps [ErrLost] and the reason: [ErrExpired], [ErrTrustRanOut],
// [ErrRefused], [ErrReplaced], [ErrClosed] or [ErrAuthFailed]. A session whose
// trust ran out may still live on the servers for a while; it is closed, and
// never resumed. A disconnect alone loses nothing: the state is Suspended, and
// the client moves to another server. On ClickHouse Keeper, each disconnect
// loses the session.
//
// On Apache ZooKeeper, a session that holds nothing survives a loss of the quorum of any
// length.
// When servers have left its handshakes unanswered for two session timeouts,
// the client asks the servers for a new session, at most once per timeout. If a
// server makes a new session and refuses the old session for good, the ensemble
// was recreated empty or restored from a backup: the old session ends with
// [ErrRefused], and the new session takes its place. Otherwise the client
// closes the new session, and continues with the old session.
//
// # Trust
//
// The rule ([TrustQuorum]): only a transaction that a quorum has committed
// proves that the session is alive. A reply alone proves little: a follower
// that is cut off from its leader answers pings and reads, and a leader that
// has lost its followers answers even a sync. While something is held, the
// session therefore sends heartbeats: transactions that only check that the
// held znodes exist. Trust runs from the send time of a request that was
// answered early enough before such a transaction was sent. With
// Options.SharedHeartbeats, the sessions of one server share these transactions.
//
// The assumptions are: clocks run at the same rate to within one in a thousand,
// servers grant no timeout below two ticks (or Options.TickTime is set), and the
// ensemble keeps every transaction that it has acknowledged. docs/guarantees.md
// has the figures.
//
// # Znodes
//
// This package creates only the znodes that its caller asks for, and a missing
// chroot when [Session.EnsurePath] needs it. With Options.SharedHeartbeats it also
// creates that folder, and a persistent znode in it for each server.
//
// # Failures
//
// Errors wrap the server's error (ErrNoNode, ErrNodeExists, ...), the reason of
// a loss, or the context's error, and name the operation and the path.
//
// A nil context, a nil function, and a nil or zero Client, Session, Hold, Watch,
// Subscription, Future or Creation cause a panic before any request is sent. The
// text of the panic names the call that returns a valid value.
//
// # Compatibility
//
// ZooKeeper 3.6 to 3.9; subscriptions need 3.6, everything else works with 3.5. ClickHouse
// Keeper and RaftKeeper lack parts of the protocol; docs/connecting.md has the list.
// go-zookeeper provides the connection underneath.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Functions of the
// caller (hooks, a subscription's notify) run on the goroutine that reads the
// connection, and must not block.
package session
