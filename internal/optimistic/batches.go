package optimistic

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// Batches reads the data of many znodes with few requests. The zero value is ready for use.
// A value belongs to one call of [Change], over all calls of its function: it remembers
// whether the servers, or the client, accept batches.
type Batches struct{ size BatchSize }

const (
	pathBytes = 64 << 10 // of a request; servers refuse more than 1 MiB
	// batchesInFlight is how many batches are sent ahead, aloneInFlight is how many
	// single reads.
	batchesInFlight = 8
	aloneInFlight   = 512
)

// GetAll is r.GetAll in batches: each znode is seen as of the time of its request. If the
// reply to a batch is longer than the client accepts, or the server does not know the
// request, the connection is lost, and the error wraps ErrChanged: the next call reads the
// znodes one by one.
func (b *Batches) GetAll(r *Reading, paths []string) []session.Seen {
	out := make([]session.Seen, 0, len(paths))
	var sent []*session.Future[[]session.Result]
	for (len(sent) > 0 || len(paths) > 0) && r.Err == nil {
		switch {
		case b.size.Alone:
			n := min(len(paths), aloneInFlight)
			out = append(out, r.GetAll(paths[:n]...)...)
			paths = paths[n:]
		case len(sent) < batchesInFlight && len(paths) > 0:
			n := b.nextSize(paths)
			sent = append(sent, r.Session.StartGets(paths[:n]...))
			paths = paths[n:]
		default:
			out = append(out, b.collect(r, sent[0])...)
			sent = sent[1:]
		}
	}
	if r.Err != nil {
		return nil
	}
	return out
}

// nextSize is how many of paths the next batch has.
func (b *Batches) nextSize(paths []string) int {
	n, bytes := 0, 0
	for n < min(b.size.Next(), len(paths)) && (n == 0 || bytes+len(paths[n]) <= pathBytes) {
		bytes += len(paths[n])
		n++
	}
	return n
}

// collect waits for the reply to a batch.
func (b *Batches) collect(r *Reading, f *session.Future[[]session.Result]) []session.Seen {
	results := answer(r, f)
	if b.size.Learn(true, results, r.Err) {
		r.Err = fmt.Errorf("%w: %w", ErrChanged, r.Err)
	}
	out := make([]session.Seen, len(results))
	for i, one := range results {
		out[i] = r.checkRead(session.Seen{Data: one.Data, Stat: one.Stat, Exists: one.Err == nil}, one.Err)
	}
	return out
}
