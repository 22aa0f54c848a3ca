package ui

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
)

// pastDocument is what programs learn of a moment of the past.
type pastDocument struct {
	// At is the value of the parameter at of this moment, First and Last those of the first and
	// last known states; Previous and Next those of the neighboring events, if any.
	At       string `json:"at"`
	First    string `json:"first"`
	Last     string `json:"last"`
	Previous string `json:"previous,omitempty"`
	Next     string `json:"next,omitempty"`
	// Read is how much of the files has been read, in percent.
	Read int `json:"read_percent"`
	// Transaction is the last one up to the moment: its zxid, and its time, if known.
	Zxid string    `json:"zxid,omitempty"`
	Time time.Time `json:"time,omitzero"`
	// Early and Late: the files do not reach to the moment.
	Early bool `json:"before_first"`
	Late  bool `json:"after_last"`
	// Remarks say why the state may be wrong or unknown.
	Remarks []string    `json:"remarks"`
	Events  []pastEvent `json:"events"`
}

// pastEvent is an event around the moment.
type pastEvent struct {
	At    string            `json:"at"`
	Time  time.Time         `json:"time"`
	Event history.EventKind `json:"event"`
	// Later: the event is behind the moment.
	Later bool          `json:"later"`
	Stay  *history.Stay `json:"stay"`
}

// document is the moment for programs; nil for the present.
func (m *Moment) document() *pastDocument {
	if m == nil {
		return nil
	}
	out := &pastDocument{At: m.At, Read: m.Read, Remarks: []string{}, Events: []pastEvent{}}
	s, o := m.State, &m.Overview
	if s == nil {
		return out
	}
	out.First, out.Last, out.Previous, out.Next = o.FirstMark.String(), o.LastMark.String(), textOf(s.Previous), textOf(s.Following())
	out.Time, out.Early, out.Late = s.At.Time, s.Early, s.Late
	if s.At.Zxid != 0 {
		out.Zxid = s.At.Zxid.String()
	}
	if s.Unseen != nil {
		out.Remarks = append(out.Remarks, s.Unseen.String())
	}
	for i := range s.Doubts {
		out.Remarks = append(out.Remarks, s.Doubts[i].String())
	}
	if o.Failed != nil {
		out.Remarks = append(out.Remarks, o.Failed.Error())
	}
	for i := range s.Events {
		e := &s.Events[i]
		out.Events = append(out.Events, pastEvent{e.Mark.String(), e.At.Time, e.Kind, i >= s.Next, &e.Stay})
	}
	return out
}
