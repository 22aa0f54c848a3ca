package txnlog

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the kind of a Finding.
type Kind int

// The kinds of findings.
const (
	// Damaged: a file cannot be read from a place on; Err has the reason. Reading
	// goes on behind the damage if possible, and with the next file otherwise.
	Damaged Kind = iota
	// HalfWritten: a log that has a successor ends with a part of a record, as after
	// a crash of the server. The client got no reply.
	HalfWritten
	// Vanished: a file was removed, usually by the server's purge, between the
	// listing and the opening.
	Vanished
	// Misnamed: the first transaction of a log is not the one in the log's name.
	Misnamed
	// Gap: zxids are missing between two transactions. Snapshot names a snapshot
	// that covers the gap, as after a server joined by a snapshot of the leader. In a
	// recording, nothing was recorded from Since to Until, for the reason Err.
	Gap
	// Conflict: one zxid has two different contents.
	Conflict
	// Disorder: a log goes back to a zxid that can no longer be returned in order,
	// or compared: its place is too far back, or the transactions behind it were
	// already returned at the end so far. The transaction is left out. In a recording, the
	// clock of the recorder's machine was set back at the time Since, for the reason Err.
	Disorder
	// Missing: transactions in the logs of the servers in Has are not in the log of
	// Server, although that log goes further.
	Missing
)

func (k Kind) String() string {
	names := [...]string{"damaged", "half-written", "vanished", "misnamed", "gap", "conflict", "disorder", "missing"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return names[k]
}

// Finding is something in the files that a reader of a history should know.
type Finding struct {
	Kind Kind
	// Server is the name of the folder, or empty for a gap in all folders.
	Server string
	// From and To are the first and last zxid concerned, or 0 if none is known.
	From, To Zxid
	// At has the places that prove the finding: of the damage, of the records
	// around a gap, or of two records that disagree.
	At []Position
	// Has names the servers that have the transactions of a Missing.
	Has []string
	// Snapshot is the path of a snapshot of Server that explains a Gap or Missing.
	Snapshot string
	// Err is the reason of Damaged and Vanished.
	Err error
	// Since and Until are the times of a Gap of a recording. Since alone is the time of a
	// Disorder of a recording: the clock of the recorder's machine was set back.
	Since, Until time.Time
}

func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", f.Kind)
	if f.Server != "" {
		fmt.Fprintf(&b, " on %s", f.Server)
	}
	switch {
	case f.From == 0:
	case f.From == f.To:
		fmt.Fprintf(&b, ": zxid %s", f.From)
	default:
		fmt.Fprintf(&b, ": zxids %s to %s", f.From, f.To)
	}
	switch {
	case f.Since.IsZero():
	case f.Until.IsZero():
		fmt.Fprintf(&b, ": at %s", f.Since.UTC().Format(time.RFC3339Nano))
	default:
		fmt.Fprintf(&b, ": nothing was recorded from %s to %s", f.Since.UTC().Format(time.RFC3339Nano), f.Until.UTC().Format(time.RFC3339Nano))
	}
	if len(f.Has) > 0 {
		fmt.Fprintf(&b, ", on %s", strings.Join(f.Has, ", "))
	}
	for _, p := range f.At {
		if f.Kind != Damaged { // Err has the place
			fmt.Fprintf(&b, "; %s", p)
		}
	}
	if f.Snapshot != "" {
		fmt.Fprintf(&b, "; covered by %s", f.Snapshot)
	}
	if f.Err != nil {
		fmt.Fprintf(&b, ": %v", f.Err)
	}
	return b.String()
}
