package workerctl

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Roster is a local view of a job's workers, which [Roster.Run] keeps up to date by one
// recursive watch: one event reports each join, return, update, leave and death, and the
// worker's record is read then. A single change is read at once. Of more changes, those
// that come within a round trip, and within one millisecond for each worker of the job (at
// most a second, or a sixteenth of the session timeout), are read together, up to 128 in a
// request.
//
// In a job of n workers, n rosters get n events for each change. While there would be more
// than 8,000 events per second, each roster stops its watch: it lists the running workers
// once per pause and reads the changed ones, and all workers every sixth of the session
// timeout. The roster sets the watch again when fewer workers change.
//
// The load takes a watch, two lists of names, two small reads, and one request for up to
// 128 workers. While ZooKeeper is away the roster shows its last state; see Stale.
//
// ZooKeeper 3.6 and newer have recursive watches. With 3.5, a roster watches and reads each
// member by a request of its own, and lists the running workers after changes of them.
type Roster struct {
	job  *Job
	view *rosterView
}

// Roster makes a view of the job's workers. Roster sends nothing.
func (j *Job) Roster() *Roster {
	j = receiver.OrZero(j)
	return &Roster{job: j, view: newRosterView(j)}
}

// Run keeps the view up to date until ctx ends, or the view cannot continue: when the
// client is closed, or the job's znodes may not be read. A lost connection or session does
// not end Run. Run returns nil when ctx has ended, because a roster holds nothing. If ctx
// had ended before the call, the error wraps the context's error. A second Run at the same
// time fails with cache.ErrRunning; after Run has ended, another Run continues with the
// content of the view. The caller owns the goroutine.
//
// If the client has an Observer, Run reports the changes after its first view
// (observe.MemberChanged), without further requests.
func (r *Roster) Run(ctx context.Context) error {
	r = receiver.OrZero(r)
	const op = "watch the members of"
	if err := r.checkCall(ctx); err != nil {
		return wrapError(ctx, op, r.errorPath(), err)
	}
	both, end := context.WithCancel(ctx)
	defer end()
	defer r.startReporter(both)()
	if err := r.view.run(ctx); err != nil {
		return wrapError(ctx, op, r.job.Path(), err)
	}
	return nil
}

// checkCall checks ctx, and that the roster is not a zero value.
func (r *Roster) checkCall(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if r.job == nil {
		return fmt.Errorf("%w: %s", ErrInvalidArgument, zeroRoster)
	}
	return r.job.checkCall(ctx)
}

// zeroRoster describes the misuse of a zero Roster.
const zeroRoster = "a nil or zero Roster has no job: get one from Job.Roster"

// mustBeMade panics on a zero Roster, in methods that return no error.
func (r *Roster) mustBeMade() {
	if r == nil || r.job == nil {
		panic("workerctl: " + zeroRoster)
	}
}

// errorPath is the job's, for errors.
func (r *Roster) errorPath() string {
	if r.job == nil {
		return ""
	}
	return r.job.Path()
}

// WaitSynced waits until the view equals the state of the connected server, or shows
// everything that a server knew when the call began; the roster must be running.
func (r *Roster) WaitSynced(ctx context.Context) error {
	r = receiver.OrZero(r)
	const op = "watch the members of"
	if err := r.checkCall(ctx); err != nil {
		return wrapError(ctx, op, r.errorPath(), err)
	}
	if err := r.view.waitSynced(ctx); err != nil {
		return wrapError(ctx, op, r.job.Path(), err)
	}
	return nil
}

// Stale returns the greatest possible age of the view: the view shows
// everything known to the servers at that time, and possibly more. While the
// view is kept up to date, Stale stays below a third of the session timeout, also
// while very many workers come and go. Stale grows while ZooKeeper is away, and
// is the longest Duration before the view was loaded.
func (r *Roster) Stale() time.Duration {
	r.mustBeMade()
	return r.view.stale()
}

// Joined returns all workers that ever joined, in the order of their ids, as far
// as the view knows, without waiting. A worker is shown as dead only if it has died, or the
// job was killed. A member with an unreadable record is left out.
func (r *Roster) Joined() []Member {
	r.mustBeMade()
	return r.view.list()
}

// Running returns the running workers, as far as the view knows, without waiting.
func (r *Roster) Running() []Member {
	var out []Member
	for _, m := range r.Joined() {
		if m.State == running {
			out = append(out, m)
		}
	}
	return out
}
