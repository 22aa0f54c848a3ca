package provider

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// usage is the known use of one registration of an instance.
type usage struct {
	inFlight int
	failures int       // in a row
	down     time.Time // until then it is set aside
}

// noteEnd says how a use ended. If the instance was set aside after the use began, a
// failure of this use does not prolong the time.
func (u *usage) noteEnd(failed bool, now time.Time, threshold int, d time.Duration) {
	switch {
	case !failed:
		u.failures, u.down = 0, time.Time{}
	case threshold < 0 || u.isDown(now):
	default:
		if u.failures++; u.failures >= threshold {
			u.failures, u.down = 0, now.Add(d)
		}
	}
}

func (u *usage) isDown(now time.Time) bool { return now.Before(u.down) }

// uses are the usages of a provider's instances.
type uses struct {
	// mu guards the fields below, and the fields of all usages. Invariant: known are
	// the usages of the instances of the present list. A lease keeps the usage of an
	// instance that has gone.
	mu    sync.Mutex
	known map[key]*usage
}

// membersOf finds, or makes, the usages of a new list.
func (s *uses) membersOf(list []*discovery.Instance) []member {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, known := make([]member, len(list)), make(map[key]*usage, len(list))
	for n, i := range list {
		u := s.known[keyOf(i)]
		if u == nil {
			u = &usage{}
		}
		known[keyOf(i)] = u
		out[n] = member{i, u}
	}
	s.known = known
	return out
}

// candidates are those that are not set aside, or all if that leaves none, and
// their usages.
func (s *uses) candidates(usable []member, now time.Time) ([]Candidate, []*usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range []bool{false, true} {
		out, usages := make([]Candidate, 0, len(usable)), make([]*usage, 0, len(usable))
		for _, m := range usable {
			if all || !m.usage.isDown(now) {
				out, usages = append(out, Candidate{m.instance, m.usage.inFlight}), append(usages, m.usage)
			}
		}
		if len(out) > 0 {
			return out, usages
		}
	}
	return nil, nil
}

// addLease and end count the leases.
func (s *uses) addLease(u *usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.inFlight++
}

func (s *uses) removeLease(l *Lease, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.usage == nil {
		return // it was ended before
	}
	o := l.provider.opts
	l.usage.inFlight--
	l.usage.noteEnd(err != nil, now, o.DownThreshold, o.DownFor)
	l.usage = nil
}
