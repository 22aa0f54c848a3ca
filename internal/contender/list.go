package contender

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Listed is a contender as seen by other clients.
type Listed struct {
	znode.Entry
	Node session.Node
}

// listings bounds the listings of a queue that changes during the reads.
const listings = 4

// List reads all contenders of a queue, in their order: none if dir does not exist.
// A contender that left between the listing and the reading may have made way for
// another, so the queue is then listed again, a few times at most.
func List(ctx context.Context, s *session.Session, dir string, markers []string) ([]Listed, error) {
	out, whole, err := listTries(ctx, s, dir, markers)
	if err != nil || len(out) > 0 || !whole {
		return out, err
	}
	// A server that lags behind, and a leader without followers, would deny contenders
	// that a majority has confirmed.
	err = s.ReadFresh(ctx, dir, func() (err error) {
		out, _, err = listTries(ctx, s, dir, markers)
		return err
	})
	return out, err
}

// listTries lists until no contender leaves meanwhile, at most listings times. whole is
// false if contenders have left each time.
func listTries(ctx context.Context, s *session.Session, dir string, markers []string) (out []Listed, whole bool, err error) {
	for range listings {
		out, whole, err = listOnce(ctx, s, dir, markers)
		if err != nil || whole {
			break
		}
	}
	return out, whole, err
}

// listOnce is one attempt of listTries; whole is false if a contender has left
// meanwhile.
func listOnce(ctx context.Context, s *session.Session, dir string, markers []string) (out []Listed, whole bool, err error) {
	children, _, err := s.Children(ctx, dir)
	switch {
	case errors.Is(err, session.ErrNoNode):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	entries := znode.Parse(children, markers...).Entries
	reads := make([]*session.Future[session.Seen], len(entries))
	for i, e := range entries {
		reads[i] = s.StartGet(znode.Join(dir, e.Name), false)
	}
	out = make([]Listed, 0, len(entries))
	for i, e := range entries {
		path := znode.Join(dir, e.Name)
		seen, err := reads[i].Wait(ctx)
		if session.NotSent(err) || session.Unanswered(err) {
			seen.Data, seen.Stat, err = s.Get(ctx, path)
		}
		switch {
		case errors.Is(err, session.ErrNoNode):
			continue
		case err != nil:
			return nil, false, err
		}
		out = append(out, Listed{Entry: e, Node: session.Node{Path: path, Data: seen.Data, Stat: seen.Stat}})
	}
	return out, len(out) == len(entries), nil
}
