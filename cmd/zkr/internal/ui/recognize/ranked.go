package recognize

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// addRanked adds to an election the priorities of its candidates, and the candidates that wait
// beside it until they are the next by their priorities.
func (l *looker) addRanked(t *Thing, s *spot) {
	if t.Kind != Election && t.Kind != Mutex {
		return
	}
	type owner struct {
		rank    lockformat.Rank
		session SessionID
	}
	inQueue := map[owner]bool{}
	for _, c := range t.Queue {
		mark, _ := findMarker(znode.Base(c.Path))
		r := lockformat.RankOf(znode.Base(c.Path), mark)
		c.Priority = r.Priority
		inQueue[owner{r, c.Session}] = true
	}
	folder := l.find(s.Path + lockformat.RankSuffix)
	if folder == nil || folder.ephemeral() {
		return
	}
	type place struct {
		*spot
		rank lockformat.Rank
	}
	var places []place
	for c := range folder.children.all() {
		if r, ok := lockformat.ParsePlace(c.name); ok && !inQueue[owner{r, SessionID(c.Stat.EphemeralOwner)}] {
			places = append(places, place{c, r})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return lockformat.ComparePlaces(a.name, b.name) })
	for _, p := range places {
		c := l.readContender(t, p.spot, znode.Entry{Name: p.name})
		c.Outside, c.Priority = true, p.rank.Priority
		t.Queue = append(t.Queue, c)
	}
	folder.claimTree(t)
}
