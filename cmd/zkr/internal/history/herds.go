package history

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Herd is a crowd of clients that all tried to create a znode when it had gone. One did; each
// of the others was woken up in vain, and fetches the znode again.
type Herd struct {
	Path string
	// At is the creation, and Within the time in which Clients sessions failed after it.
	At      Moment
	Clients int
	Within  time.Duration
}

const (
	// herdSize clients are a herd.
	herdSize = 10
	// herdTime is how long after a deletion, and after the next creation, clients belong to it.
	herdTime = time.Second
	// herdPaths of the last deletions are remembered.
	herdPaths = 64
)

// nodeExists is the error of a server for the creation of an existing znode.
const nodeExists = -110

// herds finds herds. A log tells of failed transactions, but not what they would have changed:
// they are attributed to the newest creation of a znode that had gone just before. Servers before
// 3.6 do not log which znodes go with a session: a herd behind those is not found.
type herds struct {
	within func(path string) bool
	found  func(Herd)
	// gone are the last deletions, next the place of the next one.
	gone [herdPaths]struct {
		path string
		at   time.Time
	}
	next int
	// crowd are the sessions that have failed after a creation; nil without one.
	crowd map[int64]bool
	herd  Herd
}

// apply takes a transaction.
func (h *herds) apply(txn *txnlog.Txn) {
	if txn.Observed {
		return // a recording has no failures
	}
	if h.crowd != nil && txn.Time.Sub(h.herd.At.Time) > herdTime {
		h.end()
	}
	if txn.Err != 0 {
		if h.crowd != nil && txn.Err == nodeExists {
			h.crowd[txn.Session] = true
			h.herd.Within = txn.Time.Sub(h.herd.At.Time)
		}
		return
	}
	for i := range txn.Changes {
		switch ch := &txn.Changes[i]; {
		case ch.Type.Deletes() && h.within(ch.Path):
			h.gone[h.next].path, h.gone[h.next].at = ch.Path, txn.Time
			h.next = (h.next + 1) % herdPaths
		case ch.Type.Creates() && h.hasJustGone(ch.Path, txn.Time):
			h.end()
			h.crowd, h.herd = map[int64]bool{}, Herd{Path: ch.Path, At: Moment{txn.Time, txn.Zxid}}
		}
	}
}

func (h *herds) hasJustGone(path string, now time.Time) bool {
	for i := range h.gone {
		if g := &h.gone[i]; g.path == path && now.Sub(g.at) <= herdTime {
			return true
		}
	}
	return false
}

// end tells of the crowd behind a creation, if it is a herd.
func (h *herds) end() {
	if h.herd.Clients = len(h.crowd); h.herd.Clients >= herdSize {
		h.found(h.herd)
	}
	h.crowd = nil
}
