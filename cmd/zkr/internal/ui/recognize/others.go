package recognize

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// recipes are the kinds whose contenders have these markers.
//
// read only
var recipes = []struct {
	kind    Kind
	markers []string
	heeds   []string // markers of others accepted as its own
}{
	{Mutex, []string{lockformat.CuratorMutex, lockformat.KazooLock}, nil},
	{Semaphore, []string{markPermit}, nil},
	{RWLock, []string{lockformat.CuratorRead, lockformat.CuratorWrite, lockformat.KazooRead}, []string{lockformat.KazooLock}},
	{Election, []string{lockformat.CuratorLatch}, []string{lockformat.CuratorMutex, lockformat.KazooLock}},
}

// Others are the other kinds of contenders among names, ignored by contenders
// of kind. Only exact library names count.
func Others(kind Kind, names []string) (out []Kind) {
	var heeded []string
	for _, r := range recipes {
		if r.kind == kind {
			heeded = append(slices.Clone(r.markers), r.heeds...)
		}
	}
	for _, r := range recipes {
		if slices.ContainsFunc(names, func(name string) bool {
			mark, before := findMarker(name)
			return slices.Contains(r.markers, mark) && !slices.Contains(heeded, mark) && isExactName(mark, before)
		}) {
			out = append(out, r.kind)
		}
	}
	return out
}

// Locks reports whether the contenders in path, though valid for an election,
// have names of a lock, and the path has no sign of an election.
func Locks(path string, names []string) bool {
	locks := false
	for _, name := range names {
		switch mark, _ := findMarker(name); mark {
		case lockformat.CuratorMutex, lockformat.KazooLock:
			locks = true
		case lockformat.CuratorLatch:
			return false
		}
	}
	return locks && !hasWord(path, electionWords)
}
