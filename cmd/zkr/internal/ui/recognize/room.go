package recognize

import (
	"cmp"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// addOutside adds to a queue the contenders that wait beside it, in its room, until the
// queue is shorter. A contender that has come back into the queue keeps its place in the
// room until it is granted.
func (l *looker) addOutside(t *Thing, s *spot, markers []string) {
	room := l.find(s.Path + lockformat.RoomSuffix)
	if room == nil || t.Kind == RWLock || room.ephemeral() {
		return
	}
	inQueue := make(map[string]bool, len(t.Queue))
	for _, c := range t.Queue {
		inQueue[znode.Unnumbered(znode.Base(c.Path))] = true
	}
	var outside []*Contender
	for place := range room.children.all() {
		e, own, ok := znode.ParsePlace(place.Data, markers...)
		if !ok || inQueue[e.Name] {
			continue
		}
		c := l.readContender(t, place, e)
		c.ID, c.Outside = idIn(&Node{Data: own}), true
		outside = append(outside, c)
	}
	slices.SortFunc(outside, func(a, b *Contender) int { return cmp.Compare(a.Token, b.Token) })
	t.Queue = append(t.Queue, outside...)
	room.claimTree(t)
}
