package workerctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Roster is a local view of a job's workers, which [Roster.Run] keeps up to date
// by watches. At the beginning a roster costs two requests for each running
// worker, and one for each other worker; each change costs one or two. While
// ZooKeeper is away the roster shows its last state; see Stale.
type Roster struct {
	job     *Job
	members *cache.Children[member]
	live    *cache.Children[struct{}]
}

// Roster makes a view of the job's workers. Roster sends nothing.
func (j *Job) Roster() *Roster {
	j = receiver.OrZero(j)
	return &Roster{
		job:     j,
		members: cache.NewChildren(j.client, j.run.at(jobformat.DirMembers), readMember, nil),
		live:    cache.NewChildren(j.client, j.run.at(jobformat.DirLive), func(session.Node) (struct{}, error) { return struct{}{}, nil }, nil),
	}
}

func readMember(n session.Node) (member, error) {
	return memberOf(nameOf(n.Path), n.Data)
}

// Run keeps the view up to date until ctx ends, or the view cannot continue;
// see cache.View.Run. Run returns nil when ctx has ended, because a roster
// holds nothing. If ctx had ended before the call, the error wraps the
// context's error. The caller owns the goroutine. If the client has an Observer, Run
// reports the changes after its first view (observe.MemberChanged), without further
// requests.
func (r *Roster) Run(ctx context.Context) error {
	r = receiver.OrZero(r)
	const op = "watch the members of"
	if err := r.checkCall(ctx); err != nil {
		return wrapError(ctx, op, r.errorPath(), err)
	}
	both, end := context.WithCancel(ctx)
	defer end()
	defer r.startReporter(both)()
	other := make(chan error, 1)
	// Waited for below; ends with both.
	go func() {
		defer end()
		other <- r.live.Run(both)
	}()
	err := r.members.Run(both)
	end()
	if e := <-other; err == nil || errors.Is(err, context.Canceled) {
		err = e // each view ends the other
	}
	if err == nil || ctx.Err() != nil {
		return nil // even if a view had not begun when ctx ended
	}
	return wrapError(ctx, op, r.job.Path(), err)
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

// WaitSynced waits until the view shows the servers' state; the roster must be
// running.
func (r *Roster) WaitSynced(ctx context.Context) error {
	r = receiver.OrZero(r)
	const op = "watch the members of"
	if err := r.checkCall(ctx); err != nil {
		return wrapError(ctx, op, r.errorPath(), err)
	}
	err := r.members.WaitSynced(ctx)
	if err == nil {
		err = r.live.WaitSynced(ctx)
	}
	if err != nil {
		return wrapError(ctx, op, r.job.Path(), err)
	}
	return nil
}

// Stale returns the greatest possible age of the view: the view shows
// everything known to the servers at that time, and possibly more. While the
// view is kept up to date, Stale stays below a third of the session timeout.
// Stale grows while ZooKeeper is away, and is the longest Duration before the
// view was loaded.
func (r *Roster) Stale() time.Duration {
	r.mustBeMade()
	return max(r.members.Status().Stale, r.live.Status().Stale)
}

// Joined returns all workers that ever joined, in the order of their ids, as far
// as the view knows, without waiting. A worker that has just joined, or is just
// leaving, may be shown as dead for a moment: ask [Job.Members], or follow
// [Roster.Changes]. A member with an unreadable record is left out.
func (r *Roster) Joined() []Member {
	r.mustBeMade()
	out := make([]Member, 0, r.members.Len())
	for e := range r.members.All() {
		if e.Err == nil {
			out = append(out, r.toMember(e))
		}
	}
	sortMembers(out)
	return out
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

func (r *Roster) toMember(e cache.Entry[member]) Member {
	_, alive := r.live.Get(e.Value.Live())
	return newMember(e.Value, e.Stat, alive)
}
