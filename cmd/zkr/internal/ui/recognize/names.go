package recognize

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// digits is how long the number at the end of a sequential node's name is.
const digits = 10

// isNumbered reports whether a name ends in such a number.
func isNumbered(name string) bool {
	return len(name) >= digits && allDigits(name[len(name)-digits:])
}

func allDigits(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}

// cutNumber returns the part of a name before a number of this width. After an overflow
// the number has a minus sign, and ten or eleven characters.
func cutNumber(name string, width int) (string, bool) {
	at := len(name) - width
	switch {
	case at < 0:
		return "", false
	case width == digits && allDigits(name[at:]):
		return name[:at], true
	}
	return name[:at], name[at] == '-' && allDigits(name[at+1:])
}

// findMarker finds the marker in a contender's name, and the text before the
// marker; "" for other names.
func findMarker(name string) (mark, before string) {
	for width := digits; width <= digits+1; width++ {
		head, ok := cutNumber(name, width)
		if !ok {
			continue
		}
		if head == markDemo {
			return markDemo, ""
		}
		for _, m := range [...]string{lockformat.KazooLock, lockformat.KazooRead, lockformat.CuratorMutex, lockformat.CuratorRead, lockformat.CuratorWrite, lockformat.CuratorLatch, markPermit, lockformat.CuratorLease} {
			if before, ok := strings.CutSuffix(head, m); ok {
				return m, before
			}
		}
	}
	return "", ""
}

// isExactName reports whether before is a library's prefix of a marker: a protection
// id, or 32 digits; a candidate's rank may follow.
func isExactName(mark, before string) bool {
	before, _ = lockformat.CutRank(before)
	switch mark {
	case lockformat.KazooLock, lockformat.KazooRead:
		return leaseName.MatchString(before)
	case markPermit:
		at := strings.LastIndexByte(before, '-')
		return at >= 0 && allDigits(before[at+1:]) && isProtected(before[:at+1])
	case markDemo:
		return false
	}
	return isProtected(before)
}

// isProtected reports whether text is "_c_<id>-".
func isProtected(text string) bool {
	_, base, ok := znode.Protection(text)
	return ok && base == ""
}

// ofSession reports whether a name is the name of ZooKeeper's own WriteLock for
// contenders of a session.
func ofSession(name string, owner int64) bool {
	if owner == 0 || !strings.HasPrefix(name, markOwn) {
		return false
	}
	own := markOwn + strconv.FormatInt(owner, 10) + "-"
	ten, _ := cutNumber(name, digits)
	eleven, _ := cutNumber(name, digits+1)
	return ten == own || eleven == own
}

// protectionID is the id in a protected name; "" for other names.
func protectionID(name string) string {
	id, _, _ := znode.Protection(name)
	return id
}

// splitWords returns the words of a user's name, in lower case: "order-Counter_2" is
// "order" and "counter", and so is "orderCounter".
func splitWords(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		if small = unicode.IsLower(r); !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// endsInNoun reports whether the last word of a name is in these.
func endsInNoun(name string, these []string) bool {
	w := splitWords(name)
	return len(w) > 0 && slices.Contains(these, w[len(w)-1])
}

// hasWord reports whether a node's name or its parent's name has one of these
// words.
func hasWord(path string, these []string) bool {
	for range 2 {
		if slices.ContainsFunc(splitWords(znode.Base(path)), func(w string) bool { return slices.Contains(these, w) }) {
			return true
		}
		path = znode.Parent(path)
	}
	return false
}
