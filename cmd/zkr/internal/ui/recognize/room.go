package recognize

import (
	"cmp"
	"maps"
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
		inQueue[znode.OwnerOf(znode.Base(c.Path))] = true
	}
	outside := make(map[string]*Contender)
	for place := range room.children.all() {
		e, own, ok := znode.ParsePlace(place.Data, markers...)
		owner := cmp.Or(znode.OwnerOf(e.Name), place.Path)
		if !ok || inQueue[owner] {
			continue
		}
		c := l.readContender(t, place, e)
		c.ID, c.Outside = idIn(&Node{Data: own}), true
		// After a lost reply a contender may have two places for a moment: the newer one counts.
		if former := outside[owner]; former == nil || former.Token < c.Token {
			outside[owner] = c
		}
	}
	t.Queue = append(t.Queue, slices.SortedFunc(maps.Values(outside), func(a, b *Contender) int { return cmp.Compare(a.Token, b.Token) })...)
	room.claimTree(t)
}
