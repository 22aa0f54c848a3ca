package recognize

import (
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// looksLike is the guess at a kind, with its reason.
func looksLike(k Kind, because string) string {
	return "looks like " + withArticle(k) + " because " + because
}

// withArticle writes a kind with its article.
func withArticle(k Kind) string {
	if strings.HasPrefix(string(k), "e") {
		return "an " + string(k)
	}
	return "a " + string(k)
}

// sameLayout is the guess where others look the same.
func sameLayout(these ...string) string {
	return strings.Join(these[:len(these)-1], ", ") + " or " + these[len(these)-1] + " (same layout)"
}

// tellRivals distinguishes mutexes from elections with the same layout: by znodes
// of only one of them, or else by the users' names, which is a guess.
func (l *looker) tellRivals(t *Thing, s *spot, seen map[string]bool) {
	called, elects := hasWord(s.Path, lockWords), hasWord(s.Path, electionWords)
	if called && elects {
		called, elects = false, false
	}
	_, curator := seen[lockformat.CuratorMutex]
	switch {
	case s.part != "" || l.isExclusive(s), curator && called:
	case curator && elects:
		t.Kind, t.Guess = Election, sameLayout("LeaderSelector election", "mutex")
	case curator:
		t.Guess = sameLayout("mutex", "LeaderSelector election")
	case called:
		t.Guess = sameLayout("mutex", "read/write lock without readers")
	case elects:
		t.Kind, t.Guess = Election, sameLayout("election", "mutex", "read/write lock without readers")
	default:
		t.Guess = sameLayout("mutex", "election", "read/write lock without readers")
	}
}

// isExclusive reports whether the znodes of a queue identify it as a mutex.
func (l *looker) isExclusive(s *spot) bool {
	if d := l.find(s.Path + lockformat.DelaySuffix); d != nil {
		if _, _, noted := lockformat.ParseDelay(d.Data); noted {
			return true
		}
	}
	for c := range s.children.all() {
		if mark, before := findMarker(c.name); mark == lockformat.CuratorMutex && (string(c.Data) == lockformat.RevokeData || len(protectionID(before)) == hexDigits) {
			return true
		}
	}
	return false
}

// hexDigits is the length of the id in names by go-zookeeper, whose only recipe
// is a mutex.
const hexDigits = 32
