// Package election elects one of several processes as the leader.
//
// # What it is
//
//	el := election.New(client, "/election/scheduler", nil)
//	err := el.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
//		return schedule(ctx, l.Token()) // ctx ends when the leadership is lost
//	})
//
// Candidates queue with ephemeral sequential znodes. The first one leads, and
// each of the others watches the one before it, so that a leader that goes
// wakes one candidate, however many there are. [Elector.Run] campaigns again
// after a loss; [Elector.Campaign] wins one [Leadership]; [Elector.Stand] takes a
// place in the queue without waiting. Whoever wants to know who leads asks
// [Elector.Leader], or follows it with [Elector.Observe]; one need not be a
// candidate for that.
//
// # Guarantees
//
//   - At most one leader at any time, as far as leaders heed the context that
//     they are given: it ends before the servers can let somebody else lead. The
//     one exception is a leader whose own process is paused (a stopped process, a
//     suspended machine): nothing in it can run in time. For that case there are
//     the token and the guard.
//   - What [Elector.Run] runs has ended before it gives the leadership back, and
//     has been told of a loss before somebody else can lead.
//   - [Leadership.Token] grows with every leadership of a path, for ever.
//     [Leadership.Term] does as long as the path exists. [Leadership.Guard] makes
//     a transaction fail once the leadership is gone, whoever's clock says what.
//   - First come, first to lead: the order is that in which the servers saw the
//     candidates. One that comes back joins last.
//   - As long as candidates live and servers can be reached, somebody leads.
//   - Nothing blocks the queue that does not live: a create whose answer was
//     lost is found out, and a deletion goes on in the background until the znode
//     or the session is gone.
//   - Observers see leaders in the order in which they led, may skip some, never
//     go back, and are told when nobody leads.
//
// To campaign takes two requests in one round trip if nobody else does,
// otherwise three in two, and more if the path is still to be made. To resign
// takes one, and the next candidate learns of it without asking. With a session
// that was not used for long, or a connection that is new, one more request
// proves that the session can be trusted.
//
// # How it is lost, and how you find out
//
// [Leadership.Context] ends; context.Cause says why: session.ErrReleased after
// [Leadership.Resign], otherwise session.ErrLost and a reason: why the session
// was lost, or session.ErrNodeDeleted when somebody deleted the znode (the server
// does, too, when it expires the session). Resign returns the same. A mere
// disconnect loses nothing as long as another server answers in time. A place in
// the queue is lost the same ways; Campaign and Run then take another.
//
// # Znodes
//
// The path is a container, its parents are persistent. Its children are the
// candidates, "_c_<uuid>-latch-<number>" by default, with the ID of [Options] as
// data; docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrNoLeader, ErrNotLeader, ErrWithdrawn, ErrArgument, the context's
// error and cause, or an error of package session (ErrLost, ErrNoAuth,
// ErrTooLarge for data beyond the servers' limit, ErrSequenceExhausted,
// ErrNoChildrenForEphemerals when the path's parent is ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's LeaderLatch; with [LeaderSelector]
// those of its LeaderSelector, with [Kazoo] those of Kazoo's Election. An Elector
// honors the candidates of all of them, and ignores all other children. Curator
// itself orders only candidates of one of its recipes correctly, and Kazoo sees none
// but its own, so all who share a path with one of them must use the same. Neither
// tells a leader in time that it is none any more.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Each Campaign is a
// candidate of its own: a leader that campaigns again waits for itself.
package election
