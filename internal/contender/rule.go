package contender

import "github.com/zkrecipes/zkrecipes/internal/znode"

// Decision is the verdict of a rule about a contender's place.
type Decision struct {
	// Granted: the contender has its lock or its permits.
	Granted bool
	// Watch names contenders; one of them must leave before Granted can change.
	Watch []string
	// Enough: as soon as any contender of Watch has left, the contender is granted;
	// no request is needed.
	Enough bool
	// Shrinks: no new contender can block this contender. After the departure of a
	// contender of Watch, the rule can be asked again with the former queue without
	// the departed contender: no listing is needed as long as the next contender to
	// watch exists.
	Shrinks bool
	// Recheck is a contender of Watch, or "": its departure alone says nothing, and the
	// queue must be listed.
	Recheck string
}

// Rule decides, from the queue and the contender's index, whether the contender's
// turn has come. A Rule is a pure function, and must be monotone: departures ahead
// of the contender, and arrivals behind, never take a grant back.
type Rule func(q znode.Queue, self int) Decision

// Exclusive is the rule of a mutex: the first contender holds the mutex, and every
// other contender watches its predecessor.
//
// A contender that is third or further back also watches the contender before its
// predecessor, and lists the queue when that contender leaves, while the predecessor
// begins its turn. So the contender has seen its predecessor at the head before its
// own turn comes, and takes the turn without a round trip. The end of a turn wakes
// two contenders, however long the queue is: the first takes over, and the second
// lists the queue.
//
// Rejected: only the watch on the predecessor. It saves a watch and an event per
// turn, but every hand-over in a queue of three and more waits for a listing.
// Rejected: in place of two watches from the start, first the one before the
// predecessor, and the predecessor with the listing: the numbers of watches and of
// events are the same, and a predecessor that gives up is noticed later.
func Exclusive(q znode.Queue, self int) Decision {
	if self == 0 {
		return Decision{Granted: true}
	}
	d := Decision{Watch: []string{q.Entries[self-1].Name}, Enough: self == 1}
	if self > 1 {
		d.Watch = append(d.Watch, q.Entries[self-2].Name)
	}
	// Only the first is ahead of the predecessor: once it has left, no listing can
	// say more.
	d.Shrinks = self == 2
	return d
}

// mostReaders is how many readers a writer watches at a time.
const mostReaders = 16

// Writer is the rule of a contender for exclusive access to a shared lock: a writer
// is granted when first in the queue. It watches the readers before it, back to the
// last writer, and that writer: so it is granted without a listing when the readers
// have left, in whatever order they leave. Of many readers it watches the last ones.
// writer tells by the marker whether another contender is a writer.
//
// A writer that leaves may have become a reader, in the same instant and with the
// same number: a grant by its departure would let a writer write beside the reader.
// So its departure has the queue listed. That takes no time where readers have been
// waiting in between: they have their turn meanwhile.
//
// A reader that leaves wakes the one writer that it is watched by, and a writer that
// leaves wakes the readers and the one writer behind it.
func Writer(writer func(marker string) bool) Rule {
	return func(q znode.Queue, self int) Decision {
		if self == 0 {
			return Decision{Granted: true}
		}
		d := Decision{Shrinks: true}
		for i := self - 1; i >= 0 && d.Recheck == "" && len(d.Watch) < mostReaders; i-- {
			e := q.Entries[i]
			d.Watch = append(d.Watch, e.Name)
			if writer(e.Marker) {
				d.Recheck = e.Name
			}
		}
		d.Enough = self == 1 && d.Recheck == ""
		return d
	}
}

// Reader is the rule of a contender that shares: a reader is granted when no writer
// is ahead, and watches the last writer ahead, so that departing readers wake no
// reader. writer tells by the marker whether a contender is a writer.
//
// The number of writers ahead of a reader can only shrink: new writers queue up
// behind the reader, and a writer that becomes a reader keeps its place and blocks
// no reader. So the many readers behind a writer need no listing when the writer
// leaves: neither to learn that no other writer is ahead, nor, when the writer has
// given up, to find the writer before.
func Reader(writer func(marker string) bool) Rule {
	return func(q znode.Queue, self int) Decision {
		var ahead []string
		for _, e := range q.Entries[:self] {
			if writer(e.Marker) {
				ahead = append(ahead, e.Name)
			}
		}
		if len(ahead) == 0 {
			return Decision{Granted: true}
		}
		return Decision{Watch: ahead[len(ahead)-1:], Enough: len(ahead) == 1, Shrinks: true}
	}
}

// Weighted is the rule of a semaphore: a contender has its permits when these and
// the permits of all contenders ahead are no more than total. weight tells how many
// permits a contender wants. The head of the queue is always served next, so
// contenders for several permits can neither starve nor block each other.
//
// A waiter watches the contenders right before it, until their permits exceed total
// less its own permits: one of these contenders must leave before the waiter can be
// served. It watches two at least, if there are two, as in [Exclusive]. So a release
// wakes at most as many waiters as there are permits, or two, however many wait.
func Weighted(total int, weight func(name string) int) Rule {
	return func(q znode.Queue, self int) Decision {
		ahead := 0
		for _, e := range q.Entries[:self] {
			ahead += weight(e.Name)
		}
		room := total - weight(q.Entries[self].Name)
		if ahead <= room {
			return Decision{Granted: true}
		}
		var d Decision
		least, watched := ahead, 0
		for i := self - 1; i >= 0 && (watched <= room || len(d.Watch) < 2); i-- {
			w := weight(q.Entries[i].Name)
			d.Watch = append(d.Watch, q.Entries[i].Name)
			watched += w
			least = min(least, w)
		}
		d.Enough = ahead-least <= room
		return d
	}
}
