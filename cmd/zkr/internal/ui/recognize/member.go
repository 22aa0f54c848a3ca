package recognize

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
)

// recognizeGroup recognizes groups: Kazoo's parties by their names, others by having
// only ephemeral children.
func recognizeGroup(_ *looker, s *spot) *Thing {
	t := &Thing{Kind: Group, Path: s.Path, How: "ephemeral children, as ours and Curator's GroupMember"}
	told, offers, uuids := 0, 0, 0
	for c := range s.children.all() {
		if !c.ephemeral() || c.taken() {
			t.Strangers += asBit(!c.Denied)
			continue
		}
		m := Member{Path: c.Path, ID: Text([]byte(c.name), idWidth), Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created(), Data: Text(c.Data, idWidth)}
		shallow, isShallow := memberformat.ShallowID(c.name)
		switch {
		case memberformat.IsParty(c.name):
			t.How, m.ID, m.Data = "children named __party__, as Kazoo's Party", m.Data, ""
			told++
		case isShallow && (c.Size == 0 || string(c.Data) == shallow): // Kazoo puts the id there, too
			t.How, m.ID, m.Data = "children that begin with 32 digits, as Kazoo's ShallowParty", Text([]byte(shallow), idWidth), ""
			told++
		case memberName.MatchString(c.name):
			uuids++
		case strings.HasPrefix(c.name, markOffer) && isNumbered(c.name):
			t.How = "ephemeral children with numbers"
			if offers++; c.Size > 0 {
				m.ID, m.Data = m.Data, m.ID
			}
		}
		t.Members = append(t.Members, m)
	}
	switch n := len(t.Members); {
	case n == 0 || told == 0 && t.Strangers > 0:
		return nil
	case told > 0:
	case offers == n:
		t.Guess = sameLayout("group", "election of ZooKeeper's LeaderElectionSupport")
	case uuids == n:
		t.Guess = sameLayout("group", "double barrier that is not ready")
	default:
		t.Guess = looksLike(Group, "all its children are ephemeral")
	}
	for c := range s.children.all() {
		if c.ephemeral() && !c.taken() {
			c.assignTo(t)
		}
	}
	t.State = formatCount(len(t.Members), "member")
	return t
}

func asBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recognizeService recognizes services: by an instance of the service among the
// children.
func recognizeService(_ *looker, s *spot) *Thing {
	is := false
	for c := range s.children.all() {
		if i, err := decodeNode(c.Node, memberformat.Decode); err == nil && i.Name == s.name && i.Type != "" {
			is = true
			break
		}
	}
	if !is {
		return nil
	}
	t := &Thing{Kind: Service, Path: s.Path, How: "instances in JSON, as ours and Curator's x-discovery"}
	ready, denied := 0, 0
	for c := range s.children.all() {
		c.claimTree(t)
		denied += asBit(c.Denied)
		m := Member{Path: c.Path, ID: Text([]byte(c.name), idWidth), Session: SessionID(c.Stat.EphemeralOwner), Since: c.Created()}
		m.readInstance(c.Node)
		if m.Broken != "" {
			t.addProblem(Warn, codeBrokenInstance, c.Path, "instance %s: %s", m.ID, m.Broken)
		} else if !m.Disabled {
			ready++
		}
		t.Members = append(t.Members, m)
	}
	t.State = formatCount(len(t.Members), "instance")
	if n := len(t.Members) - ready - denied; n > 0 {
		t.State += fmt.Sprintf(", %d not usable", n)
	}
	if denied > 0 {
		t.State += fmt.Sprintf(", %d not readable", denied)
	}
	if ready+denied == 0 {
		t.addProblem(Warn, codeNoInstance, s.Path, "no instance is usable")
	}
	return t
}

// readInstance reads a member's data as an instance.
func (m *Member) readInstance(n *Node) {
	i, err := decodeNode(n, memberformat.Decode)
	switch {
	case n.Denied:
		m.Broken = "it may not be read"
	case !n.Whole():
		m.Broken = "its data is too long to be read"
	case errors.Is(err, errUnread):
		m.Broken = "its data is not an instance"
	case err != nil:
		m.Broken = "its data is not an instance: " + Text([]byte(err.Error()), idWidth)
	default:
		m.ID = Text([]byte(i.ID), idWidth)
		if i.Address != nil {
			m.Address = Text([]byte(*i.Address), idWidth)
		}
		for _, port := range []*int32{i.Port, i.SSLPort} {
			if port != nil && *port != 0 {
				m.Address += ":" + strconv.Itoa(int(*port))
				break
			}
		}
		if i.RegistrationTime != 0 {
			m.Since = time.UnixMilli(i.RegistrationTime)
		}
		m.Type = Text([]byte(strings.ToLower(strings.ReplaceAll(i.Type, "_", " "))), idWidth)
		m.Disabled = i.Disabled()
		if i.Payload != nil {
			m.Data = Text(i.Payload, idWidth)
		}
	}
}
