package recognize

import (
	"cmp"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// addBreaks adds to a lock, a semaphore or an election who has taken it away from whom, the
// newest first, from the records beside its path.
func (l *looker) addBreaks(t *Thing, s *spot) {
	folder := l.find(s.Path + lockformat.BreaksSuffix)
	if folder == nil || folder.ephemeral() {
		return
	}
	for c := range folder.children.all() {
		if b, err := lockformat.ParseBreak(c.Data); err == nil && c.name == lockformat.BreakName(b.Token) {
			t.Breaks = append(t.Breaks, Break{By: b.By, Reason: b.Reason, Holder: nameOf(b.Holder, SessionID(b.SessionID())), Token: b.Token, At: c.Created()})
		}
	}
	slices.SortFunc(t.Breaks, func(a, b Break) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Token, a.Token)) })
	folder.claimTree(t)
}
