package discovery

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// window is how many reads are in progress at a time.
const window = 256

// child is a znode and, if that is so, why it could not be read.
type child struct {
	session.Node
	err error
}

// listChildren reads the children of dir whose names are wanted (nil: all), in the
// order in which they were made. A child that is deleted meanwhile is left out; a
// child that may not be read has an error, and comes first.
func listChildren(ctx context.Context, client *session.Client, dir string, wanted func(name string) bool) (out []child, err error) {
	err = client.Retry(ctx, func(s *session.Session) (err error) {
		out, err = listChildrenIn(ctx, s, dir, wanted)
		return err
	})
	return out, err
}

// listNames lists the wanted names (nil: all) below dir. An empty list is confirmed by a
// majority: a server that lags behind, and a leader without followers, would deny
// existing znodes.
func listNames(ctx context.Context, s *session.Session, dir string, wanted func(name string) bool) (names []string, err error) {
	read := func() error {
		names, _, err = s.Children(ctx, dir)
		if errors.Is(err, session.ErrNoNode) {
			err = nil
		}
		if wanted != nil {
			names = slices.DeleteFunc(names, func(n string) bool { return !wanted(n) })
		}
		return err
	}
	if err = read(); err == nil && len(names) == 0 {
		err = s.ReadFresh(ctx, dir, read)
	}
	return names, err
}

// listings bounds the listings of children that change during the reads.
const listings = 4

// listChildrenIn is listChildren in one session. A child that has gone between the listing and
// its read may have been replaced by another one in the same transaction, as a sequential
// instance is in its next session: the names are then listed again, a few times at most, and
// the new ones are read.
func listChildrenIn(ctx context.Context, s *session.Session, dir string, wanted func(name string) bool) ([]child, error) {
	found := map[string]child{}
	for tries := 1; ; tries++ {
		names, err := listNames(ctx, s, dir, wanted)
		if err != nil {
			return nil, err
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := found[name]; return ok })
		gone, err := readChildren(ctx, s, dir, missing, found)
		if err != nil {
			return nil, err
		}
		if gone > 0 && tries < listings {
			continue
		}
		out := make([]child, 0, len(names))
		for _, name := range names {
			if c, ok := found[name]; ok {
				out = append(out, c)
			}
		}
		slices.SortFunc(out, func(a, b child) int { return inOrder(a.Stat.Czxid, b.Stat.Czxid, a.Path, b.Path) })
		return out, nil
	}
}

// readChildren reads children into found, and returns how many of them have gone.
func readChildren(ctx context.Context, s *session.Session, dir string, names []string, found map[string]child) (gone int, err error) {
	reads := make([]*session.Future[session.Seen], len(names))
	for n, name := range names {
		for ahead := n; ahead < min(n+window, len(names)) && reads[ahead] == nil; ahead++ {
			reads[ahead] = s.StartGet(znode.Join(dir, names[ahead]), false)
		}
		path := znode.Join(dir, name)
		seen, err := reads[n].Wait(ctx)
		if session.NotSent(err) || session.Unanswered(err) {
			seen.Data, seen.Stat, err = s.Get(ctx, path)
		}
		switch {
		case errors.Is(err, session.ErrNoNode):
			gone++
		case err != nil && !errors.Is(err, session.ErrNoAuth):
			return gone, err
		default:
			found[name] = child{session.Node{Path: path, Data: seen.Data, Stat: seen.Stat}, err}
		}
	}
	return gone, nil
}

// inOrder orders znodes by when they were made. One transaction may make several.
func inOrder(czxid, other int64, path, otherPath string) int {
	return cmp.Or(cmp.Compare(czxid, other), cmp.Compare(path, otherPath))
}
