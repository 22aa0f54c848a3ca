package rebalanser

import "iter"

const (
	// maxOps is how many operations a transaction has at most: enough that the
	// round trip does not count, and few enough that the servers, which carry it
	// out in one go, answer others in between.
	maxOps = 500
	// maxTxn is how long a transaction gets, in bytes; servers refuse more than
	// four times that by default.
	maxTxn = 256 << 10
	// perOp is about what an operation takes besides its path and data.
	perOp = 80
	// window is how many requests are under way at a time in one go.
	window = 2000
)

// batches cuts items into parts of at most so many, whose sizes are together at most
// bytes, unless that of one alone is more.
func batches[T any](items []T, most, bytes int, size func(T) int) iter.Seq[[]T] {
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
