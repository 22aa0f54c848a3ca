package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// mostLists is how many access lists are read at most.
	mostLists = 1000
	// listPeriod is how often an Inspector reads access lists.
	listPeriod = 10 * time.Minute
)

// ReadAccess reads the access lists of root and of the paths of things. unseen is how many
// were not read: they may not be read, or are too many. After an error, out has those that
// were read before.
func ReadAccess(ctx context.Context, s *session.Session, root string, things []*recognize.Thing) (out []Access, unseen int, err error) {
	paths := []string{root}
	for _, t := range things {
		switch {
		case t.Path == root:
		case len(paths) < mostLists:
			paths = append(paths, t.Path)
		default:
			unseen++
		}
	}
	for _, path := range paths {
		acl, _, err := s.ACL(ctx, path)
		switch {
		case errors.Is(err, session.ErrNoNode):
		case errors.Is(err, session.ErrNoAuth):
			unseen++
		case err != nil:
			return out, unseen, err
		default:
			out = append(out, Access{Path: path, ACL: acl})
		}
	}
	return out, unseen, nil
}

// Inspector finds again and again what needs attention in the znodes below Root, and writes
// nothing: only one goroutine may use it.
type Inspector struct {
	Client *session.Client
	Root   string

	// open are the findings about access lists, which were read at the time read.
	open []Finding
	read time.Time
}

// Inspect returns the findings about the znodes of w. It reads access lists every ten minutes.
func (i *Inspector) Inspect(ctx context.Context, w *recognize.World, all []*Server) []Finding {
	out := append(Parents(w, i.Root), Still(w, time.Now())...)
	out = append(out, Holders(w.Things, all)...)
	if time.Since(i.read) > listPeriod {
		i.readAccess(ctx, w)
	}
	return append(out, i.open...)
}

// readAccess reads the access lists. After an error the former ones count, until the next time.
func (i *Inspector) readAccess(ctx context.Context, w *recognize.World) {
	ctx, cancel := context.WithTimeout(ctx, AuditPeriod)
	defer cancel()
	s, err := i.Client.ReadSession(ctx)
	if err != nil {
		return
	}
	lists, _, err := ReadAccess(ctx, s, i.Root, w.Things)
	if err == nil {
		i.open, i.read = Open(lists), time.Now()
	}
}
