package contender

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Room is the waiting room of a queue. A contender that finds more than a limit in the
// queue leaves it again, takes a place in the room, and enters the queue when few are
// ahead. So the queue stays short, and its listing, which every contender needs, too: n
// contenders that come at once cost n listings of a bounded length, not of n names.
//
// The places are numbered, and each contender waits for the end of the one that is a
// fixed number of places ahead: for one deletion, and without a listing. A place ends
// with the grant, or when its contender gives up; see [Contender.awaitPlaces].
//
// The room decides only when a contender enters the queue, never who is granted. So a
// missing or repeated place, or a room that is deleted, costs order and no more.
type Room struct {
	path  string
	limit int
	// seen is what the last contender of this client found; nil: there was none.
	seen atomic.Pointer[sighting]
}

// sighting is the length of a queue at a time.
type sighting struct {
	length int
	at     time.Time
}

// NewRoom makes the Room at path, beside its queue, for a queue of more than limit
// contenders; nil without a limit.
func NewRoom(path string, limit int) *Room {
	if limit < 1 {
		return nil
	}
	return &Room{path: path, limit: limit}
}

// isShort reports whether the queue was short when this client last saw it, less than
// period ago: then a contender lists it at once. Otherwise it asks for the length first.
//
// The memory ends, because clients that come back after a pause may come together, to a
// queue that has become long: each would list it whole. Within a heartbeat period, the age
// until which a listing may be used, the client's last visit still says something.
func (r *Room) isShort(period time.Duration) bool {
	seen := r.seen.Load()
	return seen != nil && seen.length <= r.limit && time.Since(seen.at) < period
}

// noteLength notes the length of the queue.
func (r *Room) noteLength(n int) { r.seen.Store(&sighting{n, time.Now()}) }

// ahead is how many places ahead that place is whose end a contender waits for. It is
// more than limit: while contenders come out of the room, new ones find the queue full.
func (r *Room) ahead() int32 { return int32(r.limit + r.limit/2) }

func (r *Room) placePath(n int32) string { return znode.Join(r.path, znode.PlaceName(n)) }

// takePlace takes the next place of the room. The numbers are versions of the room's data,
// which each contender writes, so that the name of the place ahead is known.
func (c *Contender) takePlace(ctx context.Context) error {
	room := c.spec.Room
	c.name = c.newName()
	data := znode.PlaceData(c.name, c.spec.Data)
	for lost := 0; ; lost++ {
		stat, err := c.s.Set(ctx, room.path, nil, -1)
		if err == nil {
			var node session.Node
			if node, err = c.createPlace(ctx, room.placePath(stat.Version), data); err == nil {
				c.before, c.full = stat.Version-room.ahead(), stat.NumChildren >= room.ahead()
				c.place = &Contender{s: c.s, spec: Spec{Dir: room.path}, node: node, predecessors: newPredecessors()}
				c.shown.Store(&node)
				return nil
			}
		}
		switch {
		case errors.Is(err, session.ErrNoNode): // missing, or just deleted: an empty container may be
			err = c.s.EnsurePath(ctx, room.path, session.Container, &session.CreateOptions{ACL: c.spec.ACL})
		case errors.Is(err, session.ErrNodeExists), errors.Is(err, session.ErrUnknownOutcome), session.NotSent(err):
			err = nil // another number, and the same name: List shows the newest place
		}
		if err == nil && lost > 0 {
			err = c.s.BackOff(ctx, lost-1)
		}
		if err != nil {
			return err
		}
	}
}

// createPlace creates the node of a place; with an error, nothing is left.
func (c *Contender) createPlace(ctx context.Context, path string, data []byte) (session.Node, error) {
	node, err := c.s.Create(ctx, path, data, session.Ephemeral, &session.CreateOptions{ACL: c.spec.ACL})
	if err != nil && (ctx.Err() != nil || errors.Is(err, session.ErrUnknownOutcome)) {
		// Behind a creation that may still be carried out. Another client may have the
		// same number only if the room was deleted and created again meanwhile, and loses
		// no more than its place.
		optimistic.DeleteLater(c.s, path)
	}
	return node, err
}

// leaveRoom gives the place up, in the background.
func (c *Contender) leaveRoom() {
	if c.place != nil {
		c.place.LeaveBehind()
		c.place = nil
	}
}

// readPlaces reads the contenders in a room, in the order of their arrival. Children that
// are not places with one of the markers are left out.
func readPlaces(ctx context.Context, s *session.Session, room string, names, markers []string) ([]Listed, error) {
	places := make([]Listed, len(names))
	for i, name := range names {
		places[i].Name = name
	}
	places, err := readAll(ctx, s, room, places)
	if err != nil {
		return nil, err
	}
	out := places[:0]
	for _, l := range places {
		if e, own, ok := znode.ParsePlace(l.Node.Data, markers...); ok {
			l.Entry, l.Outside, l.Node.Data = e, true, own
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Listed) int { return cmp.Compare(a.Node.Stat.Czxid, b.Node.Stat.Czxid) })
	return out, nil
}
