package serving

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// known is the leader as refused requests are told of it.
type known struct {
	leader *election.Candidate
	// own is the path of the last candidate of this process that has led: while it gives the
	// leadership back, a client must not be sent here again.
	own string
}

// followLeader follows the leader, for its address, until stop is called or ctx ends.
func (l *Leader) followLeader(ctx context.Context) (stop func()) {
	if l.opts.Address == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	// Waited for by stop, which ends it.
	following.Go(func() {
		for state, err := range l.e.Observe(ctx) {
			if err != nil {
				state.Leader = nil // it cannot be read: no address is better than an old one
			}
			l.setLeader(state.Leader)
		}
		l.setLeader(nil)
	})
	return func() {
		cancel()
		following.Wait()
	}
}

func (l *Leader) setLeader(c *election.Candidate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known.leader = c
}

// Address returns the address of the present leader, as [Options.Address] tells it. The
// address is empty without that option, without a leader, outside of Run, and while this
// process itself leads, or is about to give the leadership back. The leader may have
// changed since.
func (l *Leader) Address() string {
	l = receiver.OrZero(l)
	l.mu.Lock()
	leader, own := l.known.leader, l.known.own
	l.mu.Unlock()
	if leader == nil || leader.Path == own || l.opts.Address == nil {
		return ""
	}
	return l.opts.Address(*leader)
}
