package election

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// checkPriority checks the options of the ranking.
func (o *Options) checkPriority() error {
	switch {
	case o.Priority < 0 || o.Priority > MaxPriority:
		return fmt.Errorf("%w: Priority is %d; it must be 0 to %d", ErrInvalidArgument, o.Priority, MaxPriority)
	case o.PreemptAfter < 0:
		return fmt.Errorf("%w: PreemptAfter is %v; it must be 0 or more", ErrInvalidArgument, o.PreemptAfter)
	case o.PreemptAfter > 0 && o.Priority == 0:
		return fmt.Errorf("%w: PreemptAfter is %v without a Priority", ErrInvalidArgument, o.PreemptAfter)
	}
	return nil
}

// rank is the ranking of this elector's candidates; nil without a priority.
func (e *Elector) rank() *contender.Rank {
	if e.opts.Priority == 0 {
		return nil
	}
	return &contender.Rank{
		Place: e.places(),
		Name: func(place string) string {
			r, _ := lockformat.ParsePlace(place)
			return e.opts.Layout.rankedName(r)
		},
		GivesWay: givesWay,
		List: func(ctx context.Context, s *session.Session) ([]string, error) {
			all, err := e.listAll(ctx, s)
			paths := make([]string, len(all))
			for i, c := range all {
				paths[i] = c.Path
			}
			return paths, err
		},
	}
}

// places describes the places of candidates with a priority.
func (e *Elector) places() contender.Spec {
	return contender.Spec{
		Dir: e.path + lockformat.RankSuffix, Name: func() string { return lockformat.PlaceName(e.opts.Priority) },
		Markers: []string{lockformat.RankMarker}, Data: e.opts.Data, ACL: e.opts.ACL, Rule: contender.Ranked,
		Order: func(a, b znode.Entry) int { return lockformat.ComparePlaces(a.Name, b.Name) },
	}
}

// givesWay reports whether the candidate at self, which is the first, makes way for a better
// one: unless a candidate without a rank comes before the better one, for that candidate would
// lead next. A better candidate that is not in the queue yet is going to be the last.
func givesWay(q znode.Queue, self int) bool {
	own := lockformat.RankOf(q.Entries[self].Name, q.Entries[self].Marker)
	for _, e := range q.Entries[self+1:] {
		r := lockformat.RankOf(e.Name, e.Marker)
		if r.Priority == 0 || r.Better(own) {
			return r.Priority > 0
		}
	}
	return true
}

// mergeRanked makes candidates of the queue and, behind it, of the places of candidates that
// are not in the queue.
func mergeRanked(queue, ranked []contender.Listed) []Candidate {
	type owner struct {
		rank    lockformat.Rank
		session int64
	}
	var all, outside []Candidate
	inQueue := map[owner]bool{}
	for _, l := range queue {
		c := candidateOf(l.Entry)
		c.Outside = l.Outside
		c.setRecord(l.Node.Path, l.Node.Data, l.Node.Stat)
		inQueue[owner{lockformat.RankOf(l.Name, l.Marker), c.Session}] = true
		if c.Outside {
			outside = append(outside, c)
		} else {
			all = append(all, c)
		}
	}
	for _, l := range ranked {
		r, ok := lockformat.ParsePlace(l.Name)
		c := Candidate{Priority: r.Priority, Outside: true}
		c.setRecord(l.Node.Path, l.Node.Data, l.Node.Stat)
		if ok && !inQueue[owner{r, c.Session}] {
			all = append(all, c)
		}
	}
	return append(all, outside...)
}
