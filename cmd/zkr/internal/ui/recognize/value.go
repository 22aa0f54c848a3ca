package recognize

import "github.com/zkrecipes/zkrecipes/internal/format/counterformat"

// recognizeValue recognizes values of bytes by a writer's mark. The bytes may be anything, so
// nothing else tells a value.
func recognizeValue(_ *looker, s *spot) *Thing {
	if !s.persistent() || s.Path == "/" {
		return nil
	}
	t := &Thing{Kind: Value, Path: s.Path, How: "the mark of a writer below it: ours", State: formatCount(s.Size, "byte")}
	for c := range s.children.all() {
		if !counterformat.IsValue(c.name) || c.Size > 0 || c.persistent() {
			t.Strangers++
			continue
		}
		c.claimTree(t)
		t.Members = append(t.Members, Member{Path: c.Path, Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created()})
	}
	if len(t.Members) == 0 {
		return nil
	}
	t.Number = &Number{
		Format: "the bytes as they are, as Curator's SharedValue and DistributedAtomicValue", Writers: len(t.Members),
		Version: s.Stat.Version, Modified: s.Modified(), Czxid: s.Stat.Czxid,
	}
	return t
}
