package recorder

import (
	"context"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
)

const (
	// entrySize is the memory of a change that waits for the disk, without its path and data.
	entrySize = 700
	// Of a process that is stopped for noticed, the following changes are late; if it is
	// stopped for missed, states may be missing, and the recording has a gap.
	noticed = time.Second
	missed  = 5 * time.Second
)

// entry is a snapshot or a change that waits for the disk.
type entry struct {
	snapshot *cache.Snapshot[*recording.Znode] // or nil
	record   *recording.Record
	at       time.Time
	late     bool // the process was stopped: it may have happened long before at
	size     int
}

// inbox has what waits for the disk, with the time at which it came. A disk that is slow
// changes no time. A process that was stopped, as by SIGSTOP, with its machine, or for want
// of a processor, finds everything that has happened meanwhile at once: the inbox marks that
// as late.
type inbox struct {
	clock *clock
	limit int
	wake  chan struct{} // cap 1: there is a snapshot

	// mu guards the fields below. size is that of the entries, and of those that were taken
	// and not yet written. full: there were too many, and none is kept. awake is when the
	// process last ran. paused is the end of the last pause, until all that happened before
	// is known; stopped: there was a pause since entries were last taken.
	mu      sync.Mutex
	entries []entry
	size    int
	full    bool
	awake   time.Time
	paused  time.Time
	stopped bool
}

func newInbox(c *clock, limit int) *inbox {
	return &inbox{clock: c, limit: limit, wake: make(chan struct{}, 1), awake: c.now()}
}

// put takes an entry, and reports whether there was room.
func (in *inbox) put(e entry) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	e.at = in.noticePauseLocked()
	e.late = !in.paused.IsZero()
	if e.record != nil {
		e.record.At = recording.Moment(e.at)
		e.size = len(e.record.Path) + len(e.record.Data) + entrySize
	}
	in.size += e.size
	if in.full = in.full || in.size > in.limit; in.full {
		in.entries = nil
		return false
	}
	in.entries = append(in.entries, e)
	if e.snapshot != nil {
		select {
		case in.wake <- struct{}{}:
		default:
		}
	}
	return true
}

// take returns what has come, whether too much has come, and whether the process was stopped
// since the last call.
func (in *inbox) take() (entries []entry, full, stopped bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.noticePauseLocked()
	entries, stopped = in.entries, in.stopped
	in.entries, in.stopped = nil, false
	return entries, in.full, stopped
}

// release makes room when entries have been written.
func (in *inbox) release(size int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.size -= size
}

// catchUp notes that everything up to a moment is known.
func (in *inbox) catchUp(to time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !to.Before(in.paused) {
		in.paused = time.Time{}
	}
}

// noticePauseLocked finds out whether the process was stopped, and returns the time.
func (in *inbox) noticePauseLocked() time.Time {
	now := in.clock.now()
	pause := now.Sub(in.awake)
	in.awake = now
	if pause < noticed {
		return now
	}
	in.paused, in.stopped = now, true
	if pause >= missed && !in.full {
		gap := &recording.Record{Kind: recording.Gap, At: recording.Moment(now), Why: "the recorder was paused for " + pause.Round(time.Second).String()}
		in.entries = append(in.entries, entry{record: gap, at: now, late: true})
	}
	return now
}

// watchPauses looks at the clock until ctx ends: otherwise the time between two changes would be
// taken for a pause.
func (in *inbox) watchPauses(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		in.mu.Lock()
		in.noticePauseLocked()
		in.mu.Unlock()
	}
}
