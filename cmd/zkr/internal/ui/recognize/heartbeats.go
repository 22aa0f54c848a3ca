package recognize

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
)

// recognizeHeartbeats recognizes the folder in which the sessions of a server share their
// heartbeats, by the names of its znodes and a readable heartbeat. Its members are the
// sessions that send them.
func recognizeHeartbeats(_ *looker, s *spot) *Thing {
	t := &Thing{Kind: Group, Path: s.Path, How: "heartbeats that sessions share, one znode for each server: ours"}
	read := 0
	for c := range s.children.all() {
		if !c.persistent() || !heartbeatformat.IsName(c.name) {
			t.Strangers++
			continue
		}
		r, err := heartbeatformat.Parse(c.Data)
		m := Member{Path: c.Path, ID: c.name, Session: SessionID(r.Sender), Since: c.Created()}
		switch {
		case err == nil:
			read++
			m.Data = fmt.Sprintf("heartbeat %d, at %s", c.Stat.Version, c.Modified().UTC().Format("15:04:05 on 2006-01-02"))
		case c.Size > 0:
			t.addProblem(Warn, codeUnreadable, c.Path, "the heartbeat of %s cannot be read: its sessions send heartbeats of their own", c.name)
		}
		t.Members = append(t.Members, m)
	}
	if read == 0 {
		return nil
	}
	s.claimTree(t)
	t.State = formatSeveral(len(t.Members), "server, whose sessions share", "servers, whose sessions share") + " heartbeats"
	return t
}
