package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
		Place: contender.Spec{
			Dir: e.path + lockformat.RankSuffix, Name: func() string { return lockformat.PlaceName(e.opts.Priority) },
			Markers: []string{lockformat.RankMarker}, Data: e.opts.Data, ACL: e.opts.ACL, Order: comparePlaces,
			Rule: contender.Ranked,
		},
		Name: func(place string) string {
			r, _ := lockformat.ParsePlace(place)
			return e.opts.Layout.rankedName(r)
		},
		GivesWay: givesWay,
	}
}

// aheadRanked is how a place with a priority counts the candidates ahead; nil without one.
func (e *Elector) aheadRanked() func(context.Context, *contender.Contender) (int, error) {
	if e.opts.Priority == 0 {
		return nil
	}
	return func(ctx context.Context, c *contender.Contender) (int, error) {
		for {
			path := c.Node().Path
			all, err := e.Candidates(ctx)
			if err != nil {
				return 0, err
			}
			i := slices.IndexFunc(all, func(one Candidate) bool { return one.Path == path })
			if i >= 0 {
				return i, nil
			}
			// It has entered the queue, or left it: then its former znode stands for it in the
			// list until that is deleted.
			_, exists, err := c.Session().Exists(ctx, path)
			switch {
			case err != nil:
				return 0, err
			case !exists && c.Node().Path == path:
				return 0, fmt.Errorf("%s: %w", path, contender.ErrGone)
			}
		}
	}
}

// comparePlaces is the order of places: the best first. A name that has no rank comes last.
func comparePlaces(a, b znode.Entry) int {
	x, _ := lockformat.ParsePlace(a.Name)
	y, _ := lockformat.ParsePlace(b.Name)
	switch {
	case x.Better(y):
		return -1
	case y.Better(x):
		return 1
	}
	return cmp.Compare(a.Name, b.Name)
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

// listRanked reads the places of the candidates with a priority, the best first.
func (e *Elector) listRanked(ctx context.Context, s *session.Session) ([]contender.Listed, error) {
	folder := e.path + lockformat.RankSuffix
	names, _, err := s.Children(ctx, folder)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	places, err := contender.ReadPlaces(ctx, s, folder, names, []string{lockformat.RankMarker})
	slices.SortFunc(places, func(a, b contender.Listed) int { return comparePlaces(a.Entry, b.Entry) })
	return places, err
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
