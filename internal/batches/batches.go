// Package batches cuts long lists of znodes into parts that travel together. It knows
// nothing of servers and sessions.
package batches

import "iter"

const (
	// MaxOps is how many items a transaction has at most: enough that the round trip
	// does not count, and few enough that the servers, which carry a transaction out in
	// one go, answer other clients in between.
	MaxOps = 500
	// MaxTxn is how long a transaction gets, in bytes; servers refuse more than four
	// times that by default.
	MaxTxn = 256 << 10
	// PerOp is about the bytes of an operation besides its path and data.
	PerOp = 80
	// Window is how many requests of one operation are in flight at a time.
	Window = 2000
)

// Of cuts items into parts of at most most items, whose sizes add up to at most bytes. An
// item that is longer is a part of its own.
func Of[T any](items []T, most, bytes int, size func(T) int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(items) > 0 {
			n, sum := 0, 0
			for n < len(items) && n < most {
				if sum += size(items[n]); sum > bytes && n > 0 {
					break
				}
				n++
			}
			if !yield(items[:n:n]) {
				return
			}
			items = items[n:]
		}
	}
}

// OfNames cuts the names of znodes into parts that are read together.
func OfNames(names []string) iter.Seq[[]string] {
	return Of(names, Window, MaxTxn, func(name string) int { return len(name) })
}
