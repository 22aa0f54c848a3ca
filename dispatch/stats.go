package dispatch

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// Stats is a queue at a glance.
type Stats struct {
	// Tasks counts the tasks by state, and Oldest is when the first of those was
	// submitted that wait; zero if none does.
	Tasks  map[State]int
	Oldest time.Time
	// Open: the queue takes tasks; it holds at most MaxTasks.
	Open     bool
	MaxTasks int
	// Workers that live, in the order of their ids.
	Workers []WorkerInfo
	// Master is the ID of the one that leads, "" if nobody does; Term and Token
	// are those of its leadership.
	Master      string
	Term, Token int64
}

// WorkerInfo is a worker as others see it.
type WorkerInfo struct {
	// ID is the worker's own, which is new with each of its sessions; Name is
	// that of its options.
	ID, Name              string
	Concurrency, Prefetch int
	Labels                []string
	// Draining: it takes no more tasks, and leaves.
	Draining bool
	// Assigned is how many tasks it has, begun or not.
	Assigned int
}

// Stats counts tasks and workers. It costs as much as [Queue.List], and two requests
// for each worker.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	const op = "count the tasks of"
	var out Stats
	err := q.begin(ctx)
	if err == nil {
		err = persist(ctx, q.client, func(s *session.Session) error {
			out, err = q.stats(ctx, s)
			return err
		})
	}
	if err == nil {
		var leader election.Candidate
		leader, err = election.New(q.client, q.at(mastersDir), nil).Leader(ctx)
		if errors.Is(err, election.ErrNoLeader) {
			err = nil
		}
		out.Master, out.Term, out.Token = leader.ID, leader.Term, leader.Token
	}
	if err != nil {
		return Stats{}, failure(ctx, op, q.Path(), err)
	}
	return out, nil
}

func (q *Queue) stats(ctx context.Context, s *session.Session) (Stats, error) {
	out := Stats{Tasks: map[State]int{}}
	tasks, err := q.list(ctx, s, nil)
	if err != nil {
		return out, err
	}
	for _, t := range tasks {
		out.Tasks[t.State]++
		if t.State == waiting && (out.Oldest.IsZero() || t.Submitted.Before(out.Oldest)) {
			out.Oldest = t.Submitted
		}
	}
	if out.Open, out.MaxTasks, err = q.isOpen(ctx, s); err != nil {
		return out, err
	}
	out.Workers, err = q.workers(ctx, s)
	return out, err
}

func (q *Queue) workers(ctx context.Context, s *session.Session) (out []WorkerInfo, err error) {
	r := newReading(ctx)
	list, _ := r.IfThere(s.StartChildren(q.at(aliveDir), false))
	var profiles, loads []*session.Future[session.Seen]
	for _, id := range list.Children {
		profiles = append(profiles, s.StartGet(q.alive(id), false))
		loads = append(loads, s.StartExists(q.worker(id), false))
	}
	for i, id := range list.Children {
		data, there := r.IfThere(profiles[i])
		load := r.Seen(loads[i])
		if !there || r.Err != nil {
			continue
		}
		p, err := decode[profile](data.Data)
		if err != nil {
			continue // not ours
		}
		out = append(out, WorkerInfo{
			ID: id, Name: p.Name, Concurrency: p.Concurrency, Prefetch: p.Prefetch, Labels: p.Labels,
			Draining: p.Draining, Assigned: int(load.Stat.NumChildren),
		})
	}
	slices.SortFunc(out, func(a, b WorkerInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out, r.Err
}
