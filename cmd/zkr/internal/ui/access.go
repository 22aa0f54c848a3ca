package ui

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// askLimit bounds the asking for an access list: a page does without.
	askLimit = time.Second
	// fresh is how long an answer is passed on.
	fresh = 2 * time.Second
)

// access is the servers' answer about a znode's access list. ZooKeeper does not
// announce changes of access lists, so the answer carries its time.
type access struct {
	list []session.ACL
	err  error
	at   time.Time
	// of is the znode's stat at that time: changes other than those of the
	// access list are noticed by the stat.
	of session.Stat
}

// needsRefresh reports whether the servers must be asked: for the first time, because
// the znode has changed, or because the last request failed a while ago.
func (a access) needsRefresh(n *recognize.Node, now time.Time) bool {
	return a.at.IsZero() || a.of != n.Stat || a.err != nil && now.Sub(a.at) > askLimit
}

// readAccess reads a znode's access list.
func (m *Model) readAccess(ctx context.Context, n *recognize.Node) access {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	a := access{of: n.Stat}
	var s *session.Session
	if s, a.err = m.client.ReadSession(ctx); a.err == nil {
		a.list, _, a.err = s.ACL(ctx, n.Path)
	}
	a.at = time.Now()
	return a
}

// asker asks for access lists. asker keeps its last answer for a moment, so a
// page and its stream, which begins right afterwards, have the same answer. An
// answer with another time would be sent again.
type asker struct {
	// mu guards the fields below: last is the answer about path.
	mu   sync.Mutex
	path string
	last access
}

func (k *asker) readAccess(ctx context.Context, m *Model, n *recognize.Node) access {
	k.mu.Lock()
	path, a := k.path, k.last
	k.mu.Unlock()
	if now := time.Now(); path == n.Path && !a.needsRefresh(n, now) && now.Sub(a.at) < fresh {
		return a
	}
	a = m.readAccess(ctx, n)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.path, k.last = n.Path, a
	return a
}

// right is an entry of an access list.
type right struct {
	Who, May string
	Open     bool // anyone may do anything
}

// describeRights describes an access list for people.
func describeRights(list []session.ACL) []right {
	const all = 31
	words := []string{"read", "write", "create", "delete", "admin"}
	var out []right
	for _, a := range list {
		var may []string
		for i, word := range words {
			if a.Perms&(1<<i) != 0 {
				may = append(may, word)
			}
		}
		entry := right{Who: describeUser(a), May: strings.Join(may, ", ")}
		if a.Scheme == "world" {
			entry.Who, entry.Open = "anyone", a.Perms == all
		}
		if a.Perms == all {
			entry.May = "everything"
		}
		out = append(out, entry)
	}
	return out
}

// describeUser names the user of an entry. An id of the scheme digest has the user's
// name and an unsalted hash of the password, which a patient reader can crack:
// the hash is left out. For unknown schemes, describeUser shows less rather than more.
func describeUser(a session.ACL) string {
	id := a.ID
	switch a.Scheme {
	case "world", "auth", "ip", "sasl", "x509": // addresses and names
	default:
		id, _, _ = strings.Cut(id, ":")
	}
	return recognize.Text([]byte(a.Scheme+":"+id), 80)
}
