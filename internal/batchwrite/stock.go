package batchwrite

// Stock is a supply of results that a write reserves, for callers that have come and for
// later ones. The changes of a batcher with a stock only say that a caller wants a result.
type Stock[T any] interface {
	// Plan is the data of a write that reserves results for n callers, or an error for all
	// of them.
	Plan(now State, n int) (data []byte, err error)
	// Refill replaces the remaining results by those of the last Plan, whose write was
	// carried out; or returns an error for its callers. Refill and Take are called under the
	// batcher's lock.
	Refill() error
	// Take takes the next result; false if none remains.
	Take() (T, bool)
	// Single reports whether results are only for the callers of the write that has reserved
	// them: the results of callers that have left are dropped.
	Single() bool
}

// planReservation is the plan of a batch of n wants.
func planReservation[T any](s Stock[T], now State, n int) Plan[T] {
	p := Plan[T]{Outcomes: make([]Outcome[T], n), Version: now.Version, Author: -1}
	data, err := s.Plan(now, n)
	switch {
	case err != nil:
	case now.Version == AnyVersion:
		err = ErrVersion
	default:
		p.Writes, p.Data = true, data
	}
	for i := range p.Outcomes {
		p.Outcomes[i].Err = err
	}
	return p
}

// supply hands out the reserved results to the callers of the write and, unless they are
// single, to the callers that have come since, in order.
func (r *Batcher[T]) supply(ops []*op[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.o.Stock.Refill(); err != nil {
		for _, o := range ops {
			r.answerLocked(o, Outcome[T]{Err: err})
		}
		return
	}
	single, sent := r.o.Stock.Single(), ops[len(ops)-1].arrival
	for o := range r.queue.All() {
		if single && o.arrival > sent {
			break
		}
		v, ok := r.o.Stock.Take()
		if !ok {
			break
		}
		r.answerLocked(o, Outcome[T]{Value: v})
	}
	for ok := single; ok; {
		// A result reserved for a caller that has left is skipped: other processes may have
		// got later results before the call of the next caller.
		_, ok = r.o.Stock.Take()
	}
}
