package recognize

import (
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// valueWidth bounds the shown characters of what a leader has proclaimed.
const valueWidth = 200

// addProclaimed adds to an election what its leader has proclaimed. The value of a former
// leader has another name, and is not shown.
func (l *looker) addProclaimed(t *Thing, s *spot) {
	folder := l.find(s.Path + lockformat.ProclaimedSuffix)
	if folder == nil || t.Kind != Election || folder.ephemeral() {
		return
	}
	for _, c := range t.Queue {
		if value := folder.child(l.find(c.Path).name); value != nil && !value.ghost && !value.Denied && c.Holds {
			text := Text(value.Data, valueWidth)
			c.Value = &text
		}
	}
	folder.claimTree(t)
}
