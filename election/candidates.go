package election

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leader returns the leader as of one moment; the leader may have changed since.
// The moment is not before this call, unless the ensemble's leading server is about
// to learn that it does not lead any more. The error wraps ErrNoLeader if no
// candidate leads, as a majority of the servers has confirmed.
func (e *Elector) Leader(ctx context.Context) (Candidate, error) {
	e = receiver.OrZero(e)
	const op = "leader"
	var leader Candidate
	err := e.readRetrying(ctx, func(s *session.Session) error {
		for {
			queue, err := e.listCandidates(ctx, s)
			if err != nil {
				return err
			}
			if len(queue) == 0 {
				return ErrNoLeader
			}
			leader = queue[0]
			err = e.readLeader(ctx, s, &leader)
			if errors.Is(err, session.ErrNoNode) {
				continue // the leader has left meanwhile: list again
			}
			return err
		}
	})
	if err != nil {
		return Candidate{}, failure(ctx, op, e.path, err)
	}
	return leader, nil
}

// readLeader reads the leader's znode and, in the same round trip, the proclaimed value.
func (e *Elector) readLeader(ctx context.Context, s *session.Session, leader *Candidate) error {
	value := s.StartGet(e.valuePath(leader.Name), false)
	path := znode.Join(e.path, leader.Name)
	data, stat, err := s.Get(ctx, path)
	if err != nil {
		return err
	}
	leader.setRecord(path, data, stat)
	seen, err := value.Wait(ctx)
	if session.NotSent(err) || session.Unanswered(err) {
		return leader.readValue(ctx, s, e)
	}
	return leader.setValue(seen.Data, err)
}

// Candidates lists the candidates in their order, the leader first, as of one
// moment, which is as recent as the moment of [Elector.Leader]. Candidates that
// left while their data were read are left out. An empty list is not an error, and a
// majority of the servers has confirmed it.
func (e *Elector) Candidates(ctx context.Context) ([]Candidate, error) {
	e = receiver.OrZero(e)
	var all []Candidate
	err := e.readRetrying(ctx, func(s *session.Session) (err error) {
		all, err = e.listAll(ctx, s)
		if err == nil && len(all) > 0 && all[0].Leads {
			err = all[0].readValue(ctx, s, e)
		}
		return err
	})
	if err != nil {
		return nil, failure(ctx, "candidates", e.path, err)
	}
	return all, nil
}

// listAll lists the candidates for Candidates, without the proclaimed value.
func (e *Elector) listAll(ctx context.Context, s *session.Session) ([]Candidate, error) {
	var ranked []contender.Listed
	listed, err := readSynced(ctx, s, e.path, func() (listed []contender.Listed, err error) {
		// These first: a candidate that enters the queue meanwhile is found twice, not
		// missed.
		if ranked, err = contender.ListPlaces(ctx, s, e.places()); err == nil {
			listed, err = contender.List(ctx, s, e.path, e.path+lockformat.RoomSuffix, lockformat.ElectionMarkers())
		}
		return listed, err
	})
	if err == nil && len(listed) == 0 && len(ranked) == 0 {
		// The emptiness of the queue is confirmed, that of the places is not.
		err = s.ReadFresh(ctx, e.path, func() (err error) {
			ranked, err = contender.ListPlaces(ctx, s, e.places())
			return err
		})
	}
	return linkPredecessors(mergeRanked(listed, ranked)), err
}

// readRetrying reads in the present session, and again in the next one whenever that is
// lost on the way.
func (e *Elector) readRetrying(ctx context.Context, read func(s *session.Session) error) error {
	if err := e.checkCall(ctx); err != nil {
		return err
	}
	return e.client.Retry(ctx, read)
}

// listCandidates reads the queue. An empty queue is confirmed by a majority: a leader that
// has lost its followers answers a sync too.
func (e *Elector) listCandidates(ctx context.Context, s *session.Session) (queue []Candidate, err error) {
	read := func() ([]Candidate, error) {
		children, _, err := s.Children(ctx, e.path)
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return nil, err
		}
		return parseQueue(children), nil
	}
	queue, err = readSynced(ctx, s, e.path, read)
	if err != nil || len(queue) > 0 {
		return queue, err
	}
	err = s.ReadFresh(ctx, e.path, func() (err error) {
		queue, err = read()
		return err
	})
	return queue, err
}

// readSynced reads behind a sync, with which it shares the round trip: a server that
// lags behind may still have a leader that was deposed long ago, and would answer
// with it for as long as it lags.
func readSynced[T any](ctx context.Context, s *session.Session, path string, read func() (T, error)) (T, error) {
	sync := s.StartSync(path)
	out, err := read()
	_, syncErr := sync.Wait(ctx)
	if session.NotSent(syncErr) || session.Unanswered(syncErr) {
		// The connection went, and the read may have gone to another server:
		// once more, one after the other.
		if syncErr = s.Sync(ctx, path); syncErr == nil {
			out, err = read()
		}
	}
	if syncErr != nil {
		err = syncErr
	}
	return out, err
}
