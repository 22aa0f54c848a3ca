// Package election elects one of several processes as the leader.
//
// # What it is
//
//	el := election.New(client, "/election/scheduler", nil)
//	err := el.Run(ctx, func(ctx context.Context, l *election.Leadership) error {
//		return schedule(ctx, l.Token()) // ctx ends when the leadership is lost
//	})
//
// Candidates queue with ephemeral sequential znodes. The first candidate leads,
// and every other candidate watches the two candidates before it, so a leader
// that goes wakes two candidates, however many exist: the first leads without a
// request, and the second lists the queue, to be ready for its turn.
// [Elector.Run] campaigns again after a loss; [Elector.Campaign] wins one
// [Leadership]; [Elector.Stand] takes a place in the queue without waiting.
// [Elector.Leader] returns the present leader, and [Elector.Observe] follows
// the leaders; the caller need not be a candidate.
//
// # Guarantees
//
//   - At most one leader exists at any time, if leaders heed their contexts: a
//     context ends before the servers can let another candidate lead.
//   - This has three exceptions, for which the token and the guard are made:
//     a pause of the leader's own process (a stopped process, a suspended
//     machine); a leader's znode that an administrator or [Elector.Depose]
//     deletes, of which the leader learns within a heartbeat, or when its
//     process runs again; and an ensemble that loses acknowledged
//     transactions. docs/guarantees.md has the details.
//   - The function of [Elector.Run] has returned before Run gives the
//     leadership back, and is told of a loss before another candidate can
//     lead.
//   - [Elector.Run] returns nil when its context has ended and everything that
//     it held was given back, confirmed by a server, or when its function has
//     returned nil and that is so. Every other end is an error that wraps the failure.
//   - [Leadership.Token] grows with every leadership of a path, forever.
//     [Leadership.Term] grows as long as the path exists. [Leadership.Guard]
//     makes a transaction fail once the leadership is gone, independently of
//     all clocks.
//   - Candidates lead in the order in which the servers received them; with
//     more than [Options.MaxQueue] candidates, nearly in that order. A
//     candidate that comes back joins the end of the queue.
//   - With [Options.Priority], the waiting candidate with the highest priority leads
//     next, of equal ones the first, and a sitting leader stays. Two leaders are as
//     impossible as without priorities: see below.
//   - While candidates are alive and servers are reachable, a candidate leads.
//   - No dead candidate blocks the queue. If the reply to a create is lost,
//     the library finds out the outcome; a deletion continues in the
//     background until the znode or the session is gone.
//   - A value that the leader publishes with [Leadership.Proclaim] is seen with the
//     leader, and never with another one. Nothing is written once the leadership
//     has ended. At a resignation, the value may go a moment before its leader.
//   - Observers see leaders in the order in which they led. Observers may skip
//     leaders, never go back, and are told when no candidate leads.
//
// A campaign takes two requests in one round trip if no other candidate exists,
// otherwise three in two, and more if the path is missing. A resignation takes
// one request, and the next candidate learns of it without a request. A proclaimed
// value takes one request, and two more if the path has never had one. In a
// session without recent requests, and on a new connection, one more request
// proves that the session can be trusted.
//
// # Priorities
//
// A candidate with a priority takes a place in "<path>.ranked", and enters the queue at
// the path only when no better place is taken: by the priority, then by the number of the
// place. So the next leader stands ready in the queue, and the others wait beside it. When
// the candidate is the first in the queue, it lists the places once more. If a better
// candidate has come meanwhile, it leaves the queue again, keeps its place, and the better
// one leads; otherwise it leads, and gives its place up.
//
// The lowest number in the queue decides who leads, as ever. The places decide only when a
// candidate enters or leaves the queue, before it leads; so no lost reply, deleted place or
// error in the ranking can make two candidates lead, and tokens grow. A leader gives its
// leadership up by itself or not at all: a candidate with a higher priority deposes no
// leader. With [Options.PreemptAfter], a leader makes way by resigning, when its work has
// ended. A candidate leads in the end: a candidate makes way only for a better one, and
// the best of all never makes way.
//
// Candidates without a priority, those of other libraries and earlier versions, queue and
// lead in their turn. A candidate with a priority does not make way if one of them would
// lead next. Observers may see a candidate as the first that makes way at once.
//
// A campaign with a priority takes four requests in two round trips if no other candidate
// exists, and one in the background. A hand-over takes one list of the places, of which the
// new leader waits for the answer, and two requests more if the candidate makes way. Each
// waiting candidate watches one place, that of the next better candidate; the end of a place
// wakes at most one candidate for each priority. Every candidate lists all places when it
// comes: [Options.MaxQueue] does not bound their number.
//
// # How it is lost, and how you find out
//
// [Leadership.Context] ends, and context.Cause says why: session.ErrReleased
// after [Leadership.Resign], otherwise session.ErrLost and a reason. The reason
// is that of the lost session, or session.ErrNodeDeleted if the znode was
// deleted (by an administrator, or by the server when it expires the session).
// Resign returns the same error. A disconnect alone loses nothing if another
// server answers in time. A place in the queue is lost in the same ways;
// Campaign and Run then take another place.
//
// After a pause of the process, the Err of [Leadership.Context] is correct at
// once, but that of a context derived from it, as HTTP and SQL clients derive
// one, may be nil for some hundred milliseconds: call session.ContextErr
// before a step that must not follow a loss.
//
// # Znodes
//
// The path is a container (with [Kazoo] a persistent znode), and its parents
// are persistent. Its children are the candidates, "_c_<uuid>-latch-<number>"
// by default, with the ID of [Options] as data. The value of
// [Leadership.Proclaim] is an ephemeral znode in the container
// "<path>.proclaimed"; candidates with a priority wait in the container
// "<path>.ranked". docs/layout.md has all forms.
//
// # Failures
//
// Errors wrap ErrNoLeader, ErrNotLeader, ErrWithdrawn, ErrInvalidArgument, the
// context's error and cause, or an error of package session (ErrLost,
// ErrNoAuth, ErrTooLarge for data beyond the servers' limit,
// ErrSequenceExhausted, ErrNoChildrenForEphemerals when the path's parent is
// ephemeral, ...).
//
// # Compatibility
//
// By default the znodes are those of Curator's LeaderLatch; with
// [LeaderSelector] those of Curator's LeaderSelector; with [Kazoo] those of
// Kazoo's Election. An Elector honors the candidates of all these forms, and
// ignores all other children. Curator orders only the candidates of one of its
// recipes correctly, and Kazoo sees only its own candidates: on a path shared
// with one of them, all participants must use the same form. Neither Curator
// nor Kazoo tells a leader in time that it has lost the leadership.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. Each Campaign is a
// candidate of its own: a leader that campaigns again waits for itself.
package election
