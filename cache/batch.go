package cache

// batch gathers reads of data that are sent as one request, which costs a server a
// fraction of the same number of requests. Servers with persistent watches have such
// a request too; it leaves no watch behind.
//
// The number of reads in a batch depends on how large the data was so far: an answer is
// to be about batchBytes long. The first batches are small, so that a client with large
// data in few nodes does not get all of it at once.
type batch struct {
	reqs  []request
	paths []string
	bytes int // of paths
	size  int // of the next one
	limit int // of size; 1 once an answer was too large
}

const (
	firstBatch = 8
	maxBatch   = 128
	batchBytes = 256 << 10 // of an answer
	pathBytes  = 64 << 10  // of a request; servers refuse more than 1 MiB
)

func newBatch() batch { return batch{size: firstBatch, limit: maxBatch} }

// add adds a read, and reports whether the batch is full.
func (b *batch) add(req request) bool {
	b.reqs, b.paths = append(b.reqs, req), append(b.paths, req.n.path)
	b.bytes += len(req.n.path)
	return len(b.reqs) >= b.size || b.bytes >= pathBytes
}

func (b *batch) empty() bool { return len(b.reqs) == 0 }

// takeRequests empties it.
func (b *batch) takeRequests() ([]request, []string) {
	reqs, paths := b.reqs, b.paths
	b.reqs, b.paths, b.bytes = nil, nil, 0
	return reqs, paths
}

// sendAlone has each read sent by itself from now on. It lowers the size too, and not only
// the limit: if the next connection starts with the request that was too large on this
// connection, no answer comes that would lower the size.
func (b *batch) sendAlone() { b.size, b.limit = 1, 1 }

// onReply learns from one answer how many to ask for next.
func (b *batch) onReply(rep *reply) {
	if rep.req.op != opGet || rep.err != nil {
		return
	}
	fits := batchBytes / max(1, len(rep.seen.Data))
	// Half as much again per answer: by the time a first batch is dealt with
	// the next are several times as large.
	b.size = max(1, min(b.size+(b.size+1)/2, fits, b.limit))
}
