package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Suspicion is something in a history that an engineer should look at.
type Suspicion struct {
	Level recognize.Level `json:"level"`
	// Kind is one of the constants below.
	Kind string `json:"kind"`
	At   Moment `json:"at"`
	// Path is that of the thing or file, Client the name of the client, if any.
	Path    string              `json:"path"`
	Client  string              `json:"client,omitempty"`
	Session recognize.SessionID `json:"session,omitempty"`
	Text    string              `json:"text"`
}

// The kinds of suspicions.
const (
	// LostHold: a hold ended because the servers expired the session.
	LostHold = "lost hold"
	// TwoBelievers: a client whose session had expired came back when another client had
	// been granted what it held. A client that does not end its work before its session
	// timeout could have believed in its hold until then.
	TwoBelievers = "two believers"
	// Reconnecting: a client lost many sessions within a short time.
	Reconnecting = "reconnecting"
	// TakenAway: another session removed a holder's znode.
	TakenAway = "taken away"
	// TwoHolders: two clients held what one may hold.
	TwoHolders = "two holders"
	// TokenWentBack: a grant has a token that is not greater than a former one.
	TokenWentBack = "token went back"
	// Flapping: leaders changed often within a short time.
	Flapping = "flapping"
	// HerdOfClients: many clients tried to create a znode that had gone, all but one in vain.
	HerdOfClients = "herd"
	// LongestWaits: the hour in which clients waited longest. It is no defect.
	LongestWaits = "longest waits"
	// Defect: package recognize has found a problem in a thing.
	Defect = "defect"
	// Files: the files of the servers are damaged, have gaps, or disagree.
	Files = "files"
)

// flapGrants grants of an election within flapTime are too many.
const (
	flapGrants = 5
	flapTime   = time.Minute
)

// Auditor finds suspicions. Its methods are the functions of Options, and are called in the order
// of the transactions.
type Auditor struct {
	// Found is called with each suspicion.
	Found func(Suspicion)
	// From is the moment before which waits do not count.
	From time.Time

	sole   map[string]*Stay                      // who holds what one may hold
	tokens map[string]int64                      // the greatest token
	leads  map[string][]time.Time                // the last grants of elections
	known  map[string]map[recognize.Problem]bool // the serious problems of things, by their paths
	former believers
	waits  waits
	herds  map[string]time.Time // the last ones, of which nothing was told yet
}

// NewAuditor makes an auditor.
func NewAuditor(found func(Suspicion)) *Auditor {
	return &Auditor{
		Found: found, sole: map[string]*Stay{}, tokens: map[string]int64{}, leads: map[string][]time.Time{},
		known: map[string]map[recognize.Problem]bool{}, herds: map[string]time.Time{},
	}
}

// isSole reports whether one client alone may have what the stay has.
func isSole(s *Stay) bool {
	switch s.Kind {
	case recognize.Mutex, recognize.Election:
		return s.Has()
	case recognize.RWLock:
		return s.Has() && s.As == "writes"
	case recognize.Rebalancer:
		return s.Resource != ""
	}
	return false
}

// key is what a stay has: a thing, or a resource of a rebalancer.
func key(s *Stay) string { return s.Path + "\x00" + s.Resource }

// Began takes the beginning of a stay.
func (a *Auditor) Began(s *Stay) {
	meanwhile, lost, within := a.former.back(s)
	for _, h := range meanwhile {
		a.found(recognize.Warn, TwoBelievers, s.Entered, h.stay, "%s was back %v after its session had expired, and %s had it since %v after that: %s could have believed in its hold until then, unless it gave up by itself in time",
			h.stay.Client(), s.Entered.Time.Sub(h.stay.Ended.Time), h.next.Client(), h.next.Granted.Time.Sub(h.stay.Ended.Time), h.stay.Client())
	}
	if lost > 0 {
		a.found(recognize.Warn, Reconnecting, s.Entered, s, "%s has lost %d sessions within %v", s.Client(), lost, within)
	}
	if s.Before {
		a.compareGrant(s, s.Entered)
	}
}

// Granted takes a grant.
func (a *Auditor) Granted(s *Stay) {
	a.compareGrant(s, *s.Granted)
	if isSole(s) {
		a.former.granted(s)
	}
	if !s.Granted.Time.Before(a.From) {
		a.waits.granted(s)
	}
	if s.Kind == recognize.Election {
		a.flap(s)
	}
}

// compareGrant compares a grant with the former ones.
func (a *Auditor) compareGrant(s *Stay, at Moment) {
	k := key(s)
	if other := a.sole[k]; isSole(s) && other != nil && other.Ended == nil && other != s {
		a.found(recognize.Bad, TwoHolders, at, s, "%s was granted while %s had it", s.Client(), other.Client())
	}
	if isSole(s) {
		a.sole[k] = s
	}
	if s.Token == 0 || s.Kind == recognize.Job || s.Kind == recognize.Semaphore {
		return
	}
	if s.Token <= a.tokens[k] && s.Granted != nil {
		a.found(recognize.Bad, TokenWentBack, at, s, "the token %d is not greater than %d, which was granted before: a fence would refuse it", s.Token, a.tokens[k])
	}
	a.tokens[k] = max(a.tokens[k], s.Token)
}

// flap counts the grants of an election.
func (a *Auditor) flap(s *Stay) {
	at := s.Granted.Time
	recent := slices.DeleteFunc(a.leads[s.Path], func(t time.Time) bool { return at.Sub(t) > flapTime })
	if recent = append(recent, at); len(recent) >= flapGrants {
		a.found(recognize.Warn, Flapping, *s.Granted, s, "%d leaders within %v", len(recent), at.Sub(recent[0]))
		recent = nil
	}
	a.leads[s.Path] = recent
}

// Ended takes the end of a stay.
func (a *Auditor) Ended(s *Stay) {
	if s.Ended == nil {
		return
	}
	if k := key(s); a.sole[k] == s {
		delete(a.sole, k)
	}
	if s.How == Expired {
		a.former.expired(s)
	}
	if !s.Has() || !isHold(s) {
		return
	}
	switch s.How {
	case Expired:
		a.found(recognize.Warn, LostHold, *s.Ended, s, "the session of %s expired%s: a client that does not end its work before its session timeout could still have believed in it", s.Client(), heldFor(s))
	case Broken:
		a.found(recognize.Warn, TakenAway, *s.Ended, s, "%s took it away from %s%s: %s", s.BrokenBy, s.Client(), heldFor(s), s.Reason)
	case Removed:
		if s.By != 0 && s.Session != 0 {
			a.found(recognize.Bad, TakenAway, *s.Ended, s, "session %v removed the znode of %s%s", s.By, s.Client(), heldFor(s))
		}
	}
}

// isHold reports whether a stay is more than a membership.
func isHold(s *Stay) bool {
	switch s.Kind {
	case recognize.Mutex, recognize.RWLock, recognize.Semaphore, recognize.Election:
		return true
	case recognize.Rebalancer:
		return s.Resource != ""
	}
	return false
}

func heldFor(s *Stay) string {
	if held, known := s.Held(); known {
		return fmt.Sprintf(" after %v", held)
	}
	return ""
}

// Thing takes a thing that has come or changed.
func (a *Auditor) Thing(t *recognize.Thing, at Moment) {
	now := map[recognize.Problem]bool{}
	for _, p := range t.Problems {
		if !p.Level.IsSerious() {
			continue
		}
		if now[p] = true; !a.known[t.Path][p] {
			a.Found(Suspicion{Level: p.Level, Kind: Defect, At: at, Path: p.Path, Text: p.Text})
		}
	}
	if a.known[t.Path] = now; len(now) == 0 {
		delete(a.known, t.Path)
	}
}

// Herd takes a herd. Every second one within an hour is told of: clients that fail for another
// reason at the same time are no herd, and do not come again.
func (a *Auditor) Herd(h Herd) {
	last, known := a.herds[h.Path]
	if a.herds[h.Path] = h.At.Time; !known || h.At.Time.Sub(last) > time.Hour {
		return
	}
	delete(a.herds, h.Path)
	a.Found(Suspicion{Level: recognize.Warn, Kind: HerdOfClients, At: h.At, Path: h.Path, Text: fmt.Sprintf(
		"%d clients tried in vain to create it within %v, when it had gone and another client had created it again: all of them are woken up each time, where a recipe with a queue wakes one",
		h.Clients, h.Within)})
}

// Report takes a finding of the readers of the files.
func (a *Auditor) Report(f txnlog.Finding) {
	level := recognize.Warn
	if f.Kind == txnlog.Conflict || f.Kind == txnlog.Missing {
		level = recognize.Bad
	}
	at, moment := "", Moment{Zxid: f.From}
	if !f.Since.IsZero() { // a gap of a recording
		moment.Time = f.Since
	}
	if len(f.At) > 0 {
		at = f.At[0].File
	}
	a.Found(Suspicion{Level: level, Kind: Files, At: moment, Path: at, Text: f.String()})
}

func (a *Auditor) found(level recognize.Level, kind string, at Moment, s *Stay, format string, args ...any) {
	a.Found(Suspicion{Level: level, Kind: kind, At: at, Path: s.Path, Client: s.Client(), Session: s.Session, Text: fmt.Sprintf(format, args...)})
}
