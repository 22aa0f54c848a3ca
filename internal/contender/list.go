package contender

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Listed is a contender as seen by other clients.
type Listed struct {
	znode.Entry
	Node session.Node
	// Outside: it waits in the room, and Node is its place. Name is then its name in the
	// queue without a number, and Seq is 0.
	Outside bool
}

// listings bounds the listings of a queue that changes during the reads.
const listings = 4

// List reads all contenders of a queue, in their order: none if dir does not exist. Those
// in the room, "" for none, follow in the order of their arrival.
// A contender that left between the listing and the reading may have made way for
// another, so the queue is then listed again, a few times at most.
//
// Each contender is there once, although it may have several znodes: in the queue and in
// the room until it is granted, and where the reply to a creation or a deletion was lost,
// also a former one that is being deleted.
func List(ctx context.Context, s *session.Session, dir, room string, markers []string) ([]Listed, error) {
	out, whole, err := listTries(ctx, s, dir, room, markers)
	if err != nil || len(out) > 0 || !whole {
		return once(out), err
	}
	// A server that lags behind, and a leader without followers, would deny contenders
	// that a majority has confirmed.
	err = s.ReadFresh(ctx, dir, func() (err error) {
		out, _, err = listTries(ctx, s, dir, room, markers)
		return err
	})
	return once(out), err
}

// once leaves each contender of a listing in it once: with its first node in the queue, which
// is ahead of others as long as it exists, or else with its last place in the room. The names
// of other libraries' contenders that have no id are left alone.
func once(all []Listed) []Listed {
	first, last := make(map[string]int, len(all)), make(map[string]int, len(all))
	for i, l := range all {
		owner := znode.OwnerOf(l.Name)
		if _, known := first[owner]; !known {
			first[owner] = i
		}
		last[owner] = i
	}
	out := make([]Listed, 0, len(all))
	for i, l := range all {
		owner := znode.OwnerOf(l.Name)
		shown := first[owner]
		if all[shown].Outside {
			shown = last[owner]
		}
		if i == shown || owner == "" {
			out = append(out, l)
		}
	}
	return out
}

// listTries lists all znodes until no contender leaves meanwhile, at most listings times.
// whole is false if contenders have left each time.
func listTries(ctx context.Context, s *session.Session, dir, room string, markers []string) (out []Listed, whole bool, err error) {
	for range listings {
		out, whole, err = listOnce(ctx, s, dir, room, markers)
		if err != nil || whole {
			break
		}
	}
	return out, whole, err
}

// listOnce is one attempt of listTries; whole is false if a contender has left
// meanwhile.
func listOnce(ctx context.Context, s *session.Session, dir, room string, markers []string) (out []Listed, whole bool, err error) {
	// The room first: a contender that comes out meanwhile is found twice, not missed.
	var inRoom *session.Future[session.Seen]
	if room != "" {
		inRoom = s.StartChildren(room, false)
	}
	children, _, err := s.Children(ctx, dir)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return nil, false, err
	}
	var places []string
	if inRoom != nil {
		seen, err := inRoom.Wait(ctx)
		places = seen.Children
		if session.NotSent(err) || session.Unanswered(err) {
			places, _, err = s.Children(ctx, room)
		}
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return nil, false, err
		}
	}
	var list []Listed
	for _, e := range znode.Parse(children, markers...).Entries {
		list = append(list, Listed{Entry: e})
	}
	out, err = readAll(ctx, s, dir, list)
	if err == nil && len(places) > 0 {
		var waiting []Listed
		waiting, err = readPlaces(ctx, s, room, places, markers)
		out = append(out, waiting...)
	}
	return out, len(out) >= len(list), err
}

// ListPlaces reads the places of contenders with a [Rank], as its Place describes them, in their
// order. Those that have left are left out; a missing folder has none.
func ListPlaces(ctx context.Context, s *session.Session, place Spec) ([]Listed, error) {
	names, _, err := s.Children(ctx, place.Dir)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := znode.Parse(names, place.Markers...).Entries
	slices.SortFunc(entries, place.Order)
	list := make([]Listed, len(entries))
	for i, e := range entries {
		list[i] = Listed{Entry: e, Outside: true}
	}
	return readAll(ctx, s, place.Dir, list)
}

// readAll reads the nodes of list below dir, and leaves out those that are gone.
func readAll(ctx context.Context, s *session.Session, dir string, list []Listed) ([]Listed, error) {
	reads := make([]*session.Future[session.Seen], len(list))
	for i, e := range list {
		reads[i] = s.StartGet(znode.Join(dir, e.Name), false)
	}
	out := make([]Listed, 0, len(list))
	for i, e := range list {
		path := znode.Join(dir, e.Name)
		seen, err := reads[i].Wait(ctx)
		if session.NotSent(err) || session.Unanswered(err) {
			seen.Data, seen.Stat, err = s.Get(ctx, path)
		}
		switch {
		case errors.Is(err, session.ErrNoNode):
			continue
		case err != nil:
			return nil, err
		}
		e.Node = session.Node{Path: path, Data: seen.Data, Stat: seen.Stat}
		out = append(out, e)
	}
	return out, nil
}
