package history

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Moment is when a transaction was, by the leader's clock, and the transaction. In a recording
// the clock is that of the recorder, except for creations, and a Zxid of 0 is unknown.
type Moment struct {
	Time time.Time   `json:"time"`
	Zxid txnlog.Zxid `json:"zxid,string"`
}

// How says how a stay ended.
type How string

// The ends of stays.
const (
	// Released: the client's session removed the znode itself.
	Released How = "released"
	// Closed: the client closed its session.
	Closed How = "session closed"
	// Expired: the servers expired the session.
	Expired How = "session expired"
	// Gone and GoneWithSession: a recording does not tell which session removed the znode. All
	// znodes of the session, two at least, went at the same moment: it was probably closed,
	// or expired.
	Gone            How = "gone"
	GoneWithSession How = "gone with its session"
	// Removed: another session, Stay.By, removed the znode; or the znode is no longer recognized.
	Removed How = "removed"
	// Broken: an operator took the hold away, as "zkr lock break", "zkr rwlock break" and "zkr
	// elect depose" do. Stay.BrokenBy and Stay.Reason are those of the record, and Stay.By is
	// the session, which a recording does not tell.
	Broken How = "broken"
	// Replaced: the same znode has another role from then on, as after a downgrade.
	Replaced How = "role changed"
)

// Stay is the time from the entry of a client into a thing to its end.
type Stay struct {
	// Path and Kind are those of the thing.
	Path string         `json:"path"`
	Kind recognize.Kind `json:"kind"`
	// Znode is that of the client. Resource is what an owner of a rebalancer's resource has.
	Znode    string `json:"znode"`
	Resource string `json:"resource,omitempty"`
	// Name is the client's own name, if the recipe stores one.
	Name    string              `json:"client,omitempty"`
	Session recognize.SessionID `json:"session,omitempty"`
	// As is the newest role: holds, reads, waits for, leads, is in, works for.
	As string `json:"as"`
	// Token is the fencing token; 0 if unknown.
	Token   int64 `json:"token,omitempty,string"`
	Permits int   `json:"permits,omitempty"`
	// Entered is the creation of the znode, or the beginning of the role.
	Entered Moment `json:"entered"`
	// Granted is nil if the client only waited. Before is true if what the client has was
	// granted before the first state, at an unknown moment.
	Granted *Moment `json:"granted,omitempty"`
	Before  bool    `json:"granted_before,omitempty"`
	// GrantedAfter and EndedAfter are set if a recording has a gap: the grant or the end was
	// after this time, and at the latest at Granted or Ended.
	GrantedAfter *time.Time `json:"granted_after,omitempty"`
	EndedAfter   *time.Time `json:"ended_after,omitempty"`
	// Ended is nil if the stay lasts beyond the last transaction that was read.
	Ended *Moment `json:"ended,omitempty"`
	How   How     `json:"how,omitempty"`
	// By is the session that removed the znode of another one.
	By recognize.SessionID `json:"by,omitempty"`
	// BrokenBy is who took the hold away, and Reason is why, as the record of it says.
	BrokenBy string `json:"broken_by,omitempty"`
	Reason   string `json:"reason,omitempty"`

	czxid, ctime int64
}

// Has reports whether the client got what it came for.
func (s *Stay) Has() bool { return s.Granted != nil || s.Before }

// Client is the name to show for the client.
func (s *Stay) Client() string {
	if s.Name != "" {
		return s.Name
	}
	if s.Session != 0 {
		return s.Session.String()
	}
	return s.Znode
}

// Waited is the time from the entry to the grant, or to the end without a grant. It is
// false if the grant was before the first state, or if the wait has not ended.
func (s *Stay) Waited() (time.Duration, bool) {
	switch {
	case s.Granted != nil:
		return s.Granted.Time.Sub(s.Entered.Time), true
	case s.Before || s.Ended == nil:
		return 0, false
	}
	return s.Ended.Time.Sub(s.Entered.Time), true
}

// Held is the time from the grant to the end; false if either is unknown.
func (s *Stay) Held() (time.Duration, bool) {
	if s.Granted == nil || s.Ended == nil {
		return 0, false
	}
	return s.Ended.Time.Sub(s.Granted.Time), true
}

// Covers reports whether the stay had begun at a moment, and not ended.
func (s *Stay) Covers(at time.Time) bool {
	return !s.Entered.Time.After(at) && (s.Ended == nil || s.Ended.Time.After(at))
}

// IsUncertainAt reports whether a moment is in a gap of a recording in which the client got, or
// lost, what it came for.
func (s *Stay) IsUncertainAt(at time.Time) bool {
	within := func(after *time.Time, before *Moment) bool {
		return after != nil && before != nil && !at.Before(*after) && !at.After(before.Time)
	}
	return within(s.GrantedAfter, s.Granted) || within(s.EndedAfter, s.Ended)
}

// HasAt reports whether the client had at a moment what it came for.
func (s *Stay) HasAt(at time.Time) bool {
	return s.Covers(at) && (s.Before || s.Granted != nil && !s.Granted.Time.After(at))
}
