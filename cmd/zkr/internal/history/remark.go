package history

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Remark is a finding about the files, and the last state before it.
type Remark struct {
	txnlog.Finding
	Mark Mark
	At   time.Time // of the transaction of Mark

	// n is the transaction of Mark, or -1 before the first state.
	n int64
	// recorded: the files are a recording. shared: several servers have the transactions.
	recorded, shared bool
}

// hides reports whether nothing was recorded at a moment.
func (r *Remark) hides(at time.Time) bool {
	return r.isTime() && at.After(r.Since) && at.Before(r.Until)
}

// isTime reports whether the remark is of a time of which nothing was recorded.
func (r *Remark) isTime() bool { return r.Kind == txnlog.Gap && !r.Since.IsZero() }

// casts reports whether the remark casts doubt on the state after the n-th transaction. A
// recording goes on with a whole state after damage. Another server may have the transactions:
// if all servers lack them, there is a gap, too.
func (r *Remark) casts(n int64) bool {
	switch r.Kind {
	case txnlog.Gap:
		return !r.recorded && n > r.n
	case txnlog.Damaged, txnlog.Vanished:
		return !r.shared && r.n >= 0 && (n == r.n || n > r.n && !r.recorded)
	case txnlog.Conflict, txnlog.Disorder:
		return n >= r.n && !r.recorded
	case txnlog.HalfWritten, txnlog.Misnamed, txnlog.Missing:
	}
	return false
}

// Unknown is the time in which something happened that the files do not tell. The time of
// transactions that are missing in logs is that of the one before. The result is false for other
// remarks.
func (r *Remark) Unknown() (from, to time.Time, is bool) {
	if r.isTime() {
		return r.Since, r.Until, true
	}
	return r.At, r.At, r.casts(r.n+1) && !r.At.IsZero()
}
