package recognize

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// titled is a JSON record with its kind.
type titled struct {
	Kind string `json:"kind"`
}

// recognizeBarrier recognizes our barriers, by the record or by the waiting parties: the
// record is written with the first round.
func recognizeBarrier(l *looker, s *spot) *Thing {
	r, err := decodeNode(s.Node, barrierformat.Parse)
	q := barrierformat.Parties(s.names())
	if err != nil {
		t, _ := readRecord[titled](s.Node)
		r = barrierformat.Record{Kind: t.Kind}
	}
	if r.Kind != barrierformat.KindBarrier && r.Kind != barrierformat.KindDouble && !slices.ContainsFunc(q.Entries, func(e znode.Entry) bool { return partyID(e.Name) != "" }) {
		return nil
	}
	t := &Thing{Kind: Barrier, Path: s.Path, How: "parties, and a record in JSON: ours", Meeting: &Meeting{Parties: r.Parties, Round: r.Round}}
	if r.Kind == barrierformat.KindDouble {
		t.Kind = Double
	}
	if err != nil && len(s.Data) > 0 && s.Data[0] == '{' {
		t.addProblem(Bad, codeUnreadable, s.Path, "the barrier's record %s: no party can pass", s.unreadReason(err))
	}
	if err == nil && r.Czxid != s.Stat.Czxid {
		t.addProblem(Hint, codeForeignRecord, s.Path, "its record was written for another path, and is ignored")
		r.Released, t.Meeting.Round = nil, 0
	}
	ids := map[string]bool{}
	for _, e := range q.Entries {
		c := s.child(e.Name)
		c.assignTo(t)
		m := Member{Path: c.Path, ID: partyID(e.Name), Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(), Data: Text(c.Data, idWidth)}
		if c.persistent() {
			t.addProblem(Bad, codeOrphan, c.Path, "orphan: "+lasting, m.Name())
		}
		switch {
		case t.Kind == Double && r.Released.Contains(e.Seq):
			t.Meeting.Inside = append(t.Meeting.Inside, m)
		case ids[m.ID]:
			t.addProblem(Hint, codeDuplicate, c.Path, "%s has two znodes, and counts once", m.Name())
		default:
			ids[m.ID] = true
			t.Meeting.Here = append(t.Meeting.Here, m)
		}
	}
	t.Strangers = s.children.size() - len(q.Entries)
	l.claimBeside(t, s.Path+barrierformat.RecentRoundsSuffix)
	t.State = t.Meeting.state()
	return t
}

// state describes a meeting.
func (m *Meeting) state() string {
	var parts []string
	if n := len(m.Inside); n > 0 {
		parts = append(parts, formatSeveral(n, "is inside", "are inside"))
	}
	switch {
	case len(m.Here) == 0 && len(m.Inside) > 0:
	case m.Parties == 0:
		parts = append(parts, formatSeveral(len(m.Here), "waits", "wait"))
	default:
		parts = append(parts, strconv.Itoa(len(m.Here))+" of "+strconv.Itoa(m.Parties)+" are here")
	}
	return strings.Join(parts, ", ")
}

// partyID is the ID in a party's name; "" for other names.
func partyID(name string) string {
	id, _ := barrierformat.IDOf(name)
	return Text([]byte(id), idWidth)
}

// claimBeside claims a node beside a thing's path.
func (l *looker) claimBeside(t *Thing, path string) {
	if s := l.find(path); s != nil {
		s.claimTree(t)
	}
}
