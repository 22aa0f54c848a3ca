package workerctl

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/session"
)

// Roster is a local view of a job's workers, which [Roster.Run] keeps up to date
// by watches. It costs two requests for each worker that runs at the beginning, one
// for each other one, and one or two for each change. While ZooKeeper is away it
// shows what it knew; see Stale.
type Roster struct {
	job     *Job
	members *cache.Children[member]
	live    *cache.Children[struct{}]
}

// Roster makes a view of the job's workers. It does nothing yet.
func (j *Job) Roster() *Roster {
	return &Roster{
		job:     j,
		members: cache.NewChildren(j.client, j.run.at(membersDir), readMember, nil),
		live:    cache.NewChildren(j.client, j.run.at(liveDir), func(session.Node) (struct{}, error) { return struct{}{}, nil }, nil),
	}
}

func readMember(n session.Node) (member, error) {
	return memberOf(n.Path[strings.LastIndexByte(n.Path, '/')+1:], n.Data)
}

// Run keeps the view up to date until ctx ends, or it cannot go on; see
// cache.View.Run. The caller owns the goroutine.
func (r *Roster) Run(ctx context.Context) error {
	const op = "watch the members of"
	both, end := context.WithCancel(ctx)
	defer end()
	other := make(chan error, 1)
	// Waited for below; ends with both.
	go func() {
		defer end()
		other <- r.live.Run(both)
	}()
	err := r.members.Run(both)
	end()
	if e := <-other; err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = e
	}
	return failure(ctx, op, r.job.Path(), err)
}

// WaitSynced waits until the view shows what the servers have; somebody must be
// running it.
func (r *Roster) WaitSynced(ctx context.Context) error {
	const op = "watch the members of"
	err := r.members.WaitSynced(ctx)
	if err == nil {
		err = r.live.WaitSynced(ctx)
	}
	if err != nil {
		return failure(ctx, op, r.job.Path(), err)
	}
	return nil
}

// Stale is how old the view may be: it shows all that the servers knew so long ago,
// if not more. While it is kept up to date that stays below a third of the session
// timeout; it grows while ZooKeeper is away, and is the longest Duration before the
// view was loaded.
func (r *Roster) Stale() time.Duration {
	return max(r.members.Status().Stale, r.live.Status().Stale)
}

// Joined are all workers that ever joined, in the order of their ids, as far as
// the view knows; it never waits. One that has just joined, or is just leaving,
// may be shown as failed for a moment: ask [Job.Members], or follow
// [Roster.Changes]. A member whose record cannot be read is left out.
func (r *Roster) Joined() []Member {
	out := make([]Member, 0, r.members.Len())
	for e := range r.members.All() {
		if e.Err == nil {
			out = append(out, r.entry(e))
		}
	}
	sortMembers(out)
	return out
}

// Running are those workers that run now, as far as the view knows; it never
// waits.
func (r *Roster) Running() []Member {
	var out []Member
	for _, m := range r.Joined() {
		if m.State == running {
			out = append(out, m)
		}
	}
	return out
}

func (r *Roster) entry(e cache.Entry[member]) Member {
	_, alive := r.live.Get(e.Value.live())
	return newMember(e.Value, e.Stat, alive)
}
