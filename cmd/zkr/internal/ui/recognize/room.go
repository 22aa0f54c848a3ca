package recognize

import (
	"cmp"
	"slices"
	"strings"

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
		name := c.Path[strings.LastIndexByte(c.Path, '/')+1:]
		inQueue[name[:max(0, len(name)-znode.Digits)]] = true
	}
	var outside []*Contender
	for _, place := range room.children {
		name, data, ok := strings.Cut(string(place.Data), "\n")
		at := slices.IndexFunc(markers, func(m string) bool { return strings.HasSuffix(name, m) })
		if !ok || at < 0 || inQueue[name] {
			continue
		}
		c := l.readContender(t, place, znode.Entry{Name: name, Marker: markers[at]})
		c.ID, c.Outside = idIn(&Node{Data: []byte(data)}), true
		outside = append(outside, c)
	}
	slices.SortFunc(outside, func(a, b *Contender) int { return cmp.Compare(a.Token, b.Token) })
	t.Queue = append(t.Queue, outside...)
	room.claimTree(t)
}
