package recognize

import "slices"

// recipes are the kinds whose contenders have these markers.
//
// read only
var recipes = []struct {
	kind    Kind
	markers []string
	heeds   []string // those of others that it takes for its own
}{
	{Mutex, []string{markCurator, markKazoo}, nil},
	{Semaphore, []string{markPermit}, nil},
	{RWLock, []string{markRead, markWrite, markKRead}, []string{markKazoo}},
	{Election, []string{markLatch}, []string{markCurator, markKazoo}},
}

// Others are the kinds of which contenders stand among names, but that those of kind
// do not heed. Names count that are just as a library writes them.
func Others(kind Kind, names []string) (out []Kind) {
	var heeded []string
	for _, r := range recipes {
		if r.kind == kind {
			heeded = append(slices.Clone(r.markers), r.heeds...)
		}
	}
	for _, r := range recipes {
		if slices.ContainsFunc(names, func(name string) bool {
			mark, before := marker(name)
			return slices.Contains(r.markers, mark) && !slices.Contains(heeded, mark) && exact(mark, before)
		}) {
			out = append(out, r.kind)
		}
	}
	return out
}
