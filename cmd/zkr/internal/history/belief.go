package history

import (
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// A client whose session has expired is seen again when it enters something in its next
// session, under the same name. In between it may not have known of the loss.
const (
	// absence is the longest time for which a client is remembered.
	absence = time.Hour
	// manyAbsent clients are remembered without a look at their time.
	manyAbsent = 4096
	// losses of sessions within lossTime are too many for one client.
	losses, lossTime = 5, 10 * time.Minute
)

// absent is a client whose session has expired, and which has not been seen since.
type absent struct {
	since   time.Time
	session recognize.SessionID
	holds   []*lostHold
}

// lostHold is a hold that ended with its session, and the next one that it excludes.
type lostHold struct{ stay, next *Stay }

// believers follows clients over the loss of their sessions. The zero value is ready to use.
type believers struct {
	absent map[string]*absent     // by the name of the client
	lost   map[string][]*lostHold // without a next one, by the key of a stay
	losses map[string][]time.Time // by the name of the client
}

// expired takes the end of a stay with its session.
func (b *believers) expired(s *Stay) {
	if s.Name == "" {
		return // it cannot be recognized
	}
	if b.absent == nil {
		b.absent, b.lost, b.losses = map[string]*absent{}, map[string][]*lostHold{}, map[string][]time.Time{}
	}
	b.forget(s.Ended.Time)
	client := b.absent[s.Name]
	if client == nil || client.session != s.Session {
		client = &absent{since: s.Ended.Time, session: s.Session}
		b.absent[s.Name] = client
	}
	if isSole(s) {
		h := &lostHold{stay: s}
		client.holds = append(client.holds, h)
		b.lost[key(s)] = append(b.lost[key(s)], h)
	}
}

// forget forgets the clients that are away for long, if there are many.
func (b *believers) forget(now time.Time) {
	if len(b.absent) >= manyAbsent {
		for name, client := range b.absent {
			if now.Sub(client.since) > absence {
				b.remove(name, client)
			}
		}
	}
	if len(b.losses) >= manyAbsent {
		maps.DeleteFunc(b.losses, func(_ string, at []time.Time) bool { return len(at) == 0 || now.Sub(at[len(at)-1]) > lossTime })
	}
}

func (b *believers) remove(name string, client *absent) {
	delete(b.absent, name)
	for _, h := range client.holds {
		k := key(h.stay)
		if b.lost[k] = slices.DeleteFunc(b.lost[k], func(other *lostHold) bool { return other == h }); len(b.lost[k]) == 0 {
			delete(b.lost, k)
		}
	}
}

// granted takes a grant.
func (b *believers) granted(s *Stay) {
	k := key(s)
	if len(b.lost[k]) == 0 {
		return
	}
	b.lost[k] = slices.DeleteFunc(b.lost[k], func(h *lostHold) bool {
		if h.stay.Name == s.Name {
			return false
		}
		h.next = s
		return true
	})
}

// back takes the beginning of a stay: of a client that is back, the holds that were granted to
// others meanwhile, and how many sessions it has lost within which time, if these are too many.
func (b *believers) back(s *Stay) (meanwhile []*lostHold, lost int, within time.Duration) {
	client := b.absent[s.Name]
	if client == nil || client.session == s.Session || s.Session == 0 {
		return nil, 0, 0
	}
	b.remove(s.Name, client)
	at := s.Entered.Time
	if at.Sub(client.since) > absence {
		return nil, 0, 0
	}
	recent := slices.DeleteFunc(b.losses[s.Name], func(t time.Time) bool { return at.Sub(t) > lossTime })
	recent = append(recent, client.since)
	if len(recent) >= losses {
		lost, within = len(recent), at.Sub(recent[0])
		recent = nil
	}
	b.losses[s.Name] = recent
	return slices.DeleteFunc(client.holds, func(h *lostHold) bool { return h.next == nil }), lost, within
}
