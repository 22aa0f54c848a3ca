package recognize

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/stmformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// recognizeTable recognizes tables of locks: by the folder of owners beside the table,
// or by a held lock.
func recognizeTable(l *looker, s *spot) *Thing {
	if s.Path == "/" || s.children.size() == 0 || !s.persistent() {
		return nil
	}
	owners := l.find(s.Path + tableformat.OwnersSuffix)
	locks, held, broken := 0, 0, 0
	for c := range s.children.all() {
		r, err := decodeNode(c.Node, func(data []byte) (tableformat.Lock, error) { return tableformat.Decode(data, tableformat.IsOwner) })
		switch {
		case err == nil && r.Format == tableformat.Format:
			locks++
			held += asBit(r.Client != "" && (owners == nil || owners.child(r.Client) != nil))
		case isNewer(err):
			broken++
		default:
			return nil
		}
	}
	if owners == nil && held == 0 {
		return nil
	}
	t := &Thing{Kind: Mutex, Path: s.Path, How: "a table of locks, whose records name their owners: locktable", State: fmt.Sprintf("%d of %s held", held, formatSeveral(locks, "lock is", "locks are"))}
	if broken > 0 {
		t.addProblem(Warn, codeNewerFormat, s.Path, "%s a format of a newer version (update zkr)", formatSeveral(broken, "lock has", "locks have"))
	}
	s.claimTree(t)
	l.claimBeside(t, s.Path+tableformat.OwnersSuffix)
	return t
}

// recognizeMarkers recognizes the markers of transactions: sessions with writes through
// stm.
func recognizeMarkers(_ *looker, s *spot) *Thing {
	is := func(c *spot) bool { return c.ephemeral() && stmformat.IsMarker(c.name) }
	if !s.children.contains(is) {
		return nil
	}
	t := &Thing{Kind: Group, Path: s.Path, How: "markers of transactions: ours (stm)"}
	for c := range s.children.all() {
		if !is(c) {
			t.Strangers++
			continue
		}
		c.assignTo(t)
		t.Members = append(t.Members, Member{Path: c.Path, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created()})
	}
	t.State = formatSeveral(len(t.Members), "marker of a session that writes", "markers of sessions that write")
	return t
}
