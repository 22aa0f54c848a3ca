package contender

import "github.com/zkrecipes/zkrecipes/internal/znode"

// Decision is the verdict of a rule about a contender's place.
type Decision struct {
	// Granted: the contender has the lock or permits that it queues for.
	Granted bool
	// Watch names the contenders of which one must go before that can
	// change.
	Watch []string
	// Enough: as soon as any one of Watch has gone, the contender is granted; no
	// request is needed.
	Enough bool
	// Shrinks: no new contender can block this one. When one of Watch has gone, the
	// rule can be asked again with the queue as it was, less that one: no listing is
	// needed as long as the next contender to watch exists.
	Shrinks bool
}

// Rule decides, from the queue and the contender's index in it, whether its
// turn has come. It is a pure function, and must be monotone: contenders that
// go ahead of it, or come behind it, never take a grant back.
type Rule func(q znode.Queue, self int) Decision

// Exclusive is the rule of a mutex: the first has it, and every other contender watches
// the one before.
//
// Rejected for a mutex: [Standby]. In a queue of three and more it takes the
// listing out of the hand-over, but every wait in such a queue costs one request
// and one event more, and where the server's processor is the limit, as it is
// with eight clients that do nothing but lock, that takes back what it gains.
func Exclusive(q znode.Queue, self int) Decision {
	if self == 0 {
		return Decision{Granted: true}
	}
	return Decision{Watch: []string{q.Entries[self-1].Name}, Enough: self == 1}
}

// Standby is Exclusive for turns that are long and must pass on fast: the next
// contender in line stands by. A contender further back also watches the last but one
// before it, and lists the queue when that node goes, while nobody waits for the
// listing. So it has seen its predecessor at the head by the time its own turn comes,
// and takes the turn without a round trip. The end of a turn wakes two contenders: one
// takes over, the other gets ready.
func Standby(q znode.Queue, self int) Decision {
	d := Exclusive(q, self)
	if self > 1 {
		d.Watch = append(d.Watch, q.Entries[self-2].Name)
	}
	return d
}

// Writer is the rule of a contender that wants for itself what others share: it has it
// when it is the first, and watches the one right before, like the contender for a
// mutex. writer tells by the marker whether another contender is a writer.
//
// But a writer that goes may have become a reader, in the same instant and with
// the same number: to take its going for a grant would be to write while it
// reads. So the going of the one before is enough only if that was a reader and
// the first; otherwise the queue is listed.
func Writer(writer func(marker string) bool) Rule {
	return func(q znode.Queue, self int) Decision {
		d := Exclusive(q, self)
		d.Enough = d.Enough && !writer(q.Entries[self-1].Marker)
		return d
	}
}

// Reader is the rule of a contender that shares: a reader is granted when no writer is
// ahead of it, and watches the last writer ahead, so that readers that leave wake no
// reader. writer tells by the marker whether a contender is a writer.
//
// The number of writers ahead of a reader can only shrink: new writers queue up behind
// the reader, and a writer that becomes a reader keeps its place and blocks no reader.
// So the many readers that wait for a writer ask for no listing when the writer goes:
// neither to learn that it was the last writer, nor, when it has given up, to find the
// writer before it.
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

// Weighted is the rule of a semaphore: a contender has its permits when those
// of all contenders ahead of it and its own are no more than total. weight
// tells how many a contender wants. The head of the queue is always served
// next, so contenders that want several permits can neither starve nor block
// each other.
//
// A waiter watches the contenders right before it whose permits exceed what it
// can do without: one of these must go before it can be served. So a release
// wakes at most as many waiters as there are permits, however many wait.
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
		for i := self - 1; i >= 0 && watched <= room; i-- {
			w := weight(q.Entries[i].Name)
			d.Watch = append(d.Watch, q.Entries[i].Name)
			watched += w
			least = min(least, w)
		}
		d.Enough = ahead-least <= room
		return d
	}
}
