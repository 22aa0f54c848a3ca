// Package wire is the framed connection: everything that the session package
// needs from ZooKeeper's wire protocol and that go-zookeeper does not give.
//
// go-zookeeper keeps the session alive: it dials, shakes hands, re-attaches
// after a lost connection, pings and closes. Its one hook is the dialer, and
// every connection that it dials for a session is a [Link]'s. The link sees
// whole frames in both directions. It
//
//   - bounds the handshake, which go-zookeeper lets hang for 6.7 session
//     timeouts, and indefinitely when four bytes of a length arrive and no more;
//   - refuses frames that are shorter than a reply header (they make
//     go-zookeeper panic) or longer than a limit;
//   - never opens a connection for a session that has ended, so that no
//     request can land in a later session;
//   - tells each server the newest zxid that this session has seen, so that
//     reads never go back in time after a move;
//   - sends credentials ahead of everything else on each connection;
//   - sends requests of its own, with transaction ids of their own range, and takes
//     their answers and all watch events out of the stream. A request belongs to the
//     connection that existed when the request was made. It is never kept for a later
//     connection; its caller is told whether the request may have reached the server.
//   - notes when each request was sent and answered, pings included: the raw
//     material of the trust clock.
//
// Requests do not go through go-zookeeper's own methods, since those block without a
// context, queue while disconnected and are then sent in whatever session comes next,
// register watches that cannot be taken back and that are lost when a re-registration
// overtakes an event, and lack create2, addWatch and removeWatches. Measured cases
// are in docs/guarantees.md.
//
// The state machine ([machine]) has no clock, goroutine or I/O; conn.go moves
// its bytes.
package wire
