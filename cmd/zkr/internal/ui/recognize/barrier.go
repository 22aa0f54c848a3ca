package recognize

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// barrierRecord is the data of our barriers' paths.
type barrierRecord struct {
	Kind     string `json:"kind"`
	Czxid    int64  `json:"czxid"`
	Parties  int    `json:"parties"`
	Round    int64  `json:"round"`
	Released string `json:"released"`
}

// party tells our barriers, by the record or by those who wait: the record comes
// with the first round.
func party(l *looker, s *spot) *Thing {
	r, ok := read[barrierRecord](s.Node)
	ok = ok && (r.Kind == "barrier" || r.Kind == "double") && r.Parties > 0
	q := znode.Parse(s.names(), markParty)
	if !ok && !slices.ContainsFunc(q.Entries, func(e znode.Entry) bool { return protection(e.Name) != "" }) {
		return nil
	}
	t := &Thing{Kind: Barrier, Path: s.Path, How: "parties, and a record in JSON: ours", Meeting: &Meeting{Parties: r.Parties, Round: r.Round}}
	if r.Kind == "double" {
		t.Kind = Double
	}
	if ok && r.Czxid != s.Stat.Czxid {
		t.problem(Hint, s.Path, "its record was written for another path, and counts for nothing")
		r.Released, t.Meeting.Round = "", 0
	}
	ids, released := map[string]bool{}, rangesOf(r.Released)
	for _, e := range q.Entries {
		c := s.child(e.Name)
		c.claimed = t
		m := Member{Path: c.Path, ID: partyID(e.Name), Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(), Data: Text(c.Data, idWidth)}
		if c.persistent() {
			t.problem(Bad, c.Path, "orphan: "+lasting, m.Name())
		}
		switch {
		case t.Kind == Double && released.have(int64(e.Seq)):
			t.Meeting.Inside = append(t.Meeting.Inside, m)
		case ids[m.ID]:
			t.problem(Hint, c.Path, "%s is here twice, and counts once", m.Name())
		default:
			ids[m.ID] = true
			t.Meeting.Here = append(t.Meeting.Here, m)
		}
	}
	t.Strangers = len(s.children) - len(q.Entries)
	l.claimBeside(t, s.Path+suffixRoll)
	t.State = t.Meeting.state()
	return t
}

// state says how a meeting stands.
func (m *Meeting) state() string {
	var parts []string
	if n := len(m.Inside); n > 0 {
		parts = append(parts, several(n, "is inside", "are inside"))
	}
	switch {
	case len(m.Here) == 0 && len(m.Inside) > 0:
	case m.Parties == 0:
		parts = append(parts, several(len(m.Here), "waits", "wait"))
	default:
		parts = append(parts, strconv.Itoa(len(m.Here))+" of "+strconv.Itoa(m.Parties)+" are here")
	}
	return strings.Join(parts, ", ")
}

// partyID is the ID in a party's name, "_c_<uuid>-<ID>-party-<number>".
func partyID(name string) string {
	id := protection(name)
	begin, end := len("_c_")+len(id)+1, len(name)-len(markParty)-digits
	if id == "" || end <= begin {
		return ""
	}
	return Text([]byte(name[begin:end]), idWidth)
}

// ranges are numbers as stretches, in the order in which they begin; none ends
// before the one ahead of it.
type ranges []stretch

type stretch struct{ lo, hi int64 }

// rangesOf reads a list of ranges such as "0-31,40".
func rangesOf(text string) ranges {
	var out ranges
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		lo, err1 := strconv.ParseInt(from, 10, 32)
		hi, err2 := strconv.ParseInt(to, 10, 32)
		if err1 == nil && err2 == nil && lo <= hi {
			out = append(out, stretch{lo, hi})
		}
	}
	slices.SortFunc(out, func(a, b stretch) int { return cmp.Compare(a.lo, b.lo) })
	for i := 1; i < len(out); i++ {
		out[i].hi = max(out[i].hi, out[i-1].hi)
	}
	return out
}

// have reports whether n is one of the numbers. Of the stretches that begin before
// it, the last one ends last.
func (r ranges) have(n int64) bool {
	i, _ := slices.BinarySearchFunc(r, n, func(s stretch, n int64) int {
		if s.lo <= n {
			return -1
		}
		return 1
	})
	return i > 0 && n <= r[i-1].hi
}

// claimBeside claims a node that stands beside a thing's path.
func (l *looker) claimBeside(t *Thing, path string) {
	if s := l.spots[path]; s != nil {
		s.claim(t)
	}
}
