package recognize

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/stmformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// table recognizes tables of locks: by the folder of owners beside the table,
// or by a held lock.
func table(l *looker, s *spot) *Thing {
	if s.Path == "/" || len(s.children) == 0 || !s.persistent() {
		return nil
	}
	owners := l.find(s.Path + tableformat.OwnersSuffix)
	locks, held, broken := 0, 0, 0
	for _, c := range s.children {
		r, err := decoded(c.Node, func(data []byte) (tableformat.Lock, error) { return tableformat.Decode(data, tableformat.IsOwner) })
		switch {
		case err == nil && r.Format == tableformat.Format:
			locks++
			held += bit(r.Client != "" && (owners == nil || owners.child(r.Client) != nil))
		case newer(err):
			broken++
		default:
			return nil
		}
	}
	if owners == nil && held == 0 {
		return nil
	}
	t := &Thing{Kind: Mutex, Path: s.Path, How: "a table of locks, whose records name their owners: locktable", State: fmt.Sprintf("%d of %s held", held, several(locks, "lock is", "locks are"))}
	if broken > 0 {
		t.problem(Warn, s.Path, "%s a format of a newer version (update zkr)", several(broken, "lock has", "locks have"))
	}
	s.claim(t)
	l.claimBeside(t, s.Path+tableformat.OwnersSuffix)
	return t
}

// markers recognizes the markers of transactions: sessions with writes through
// stm.
func markers(_ *looker, s *spot) *Thing {
	is := func(c *spot) bool { return c.ephemeral() && stmformat.IsMarker(c.name) }
	if !slices.ContainsFunc(s.children, is) {
		return nil
	}
	t := &Thing{Kind: Group, Path: s.Path, How: "markers of transactions: ours (stm)"}
	for _, c := range s.children {
		if !is(c) {
			t.Strangers++
			continue
		}
		c.own(t)
		t.Members = append(t.Members, Member{Path: c.Path, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created()})
	}
	t.State = several(len(t.Members), "marker of a session that writes", "markers of sessions that write")
	return t
}
