package lock

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/breaking"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Break takes the permits away from the holder c, one of Contenders: all permits of c's
// znode, which is a single permit with Options.CuratorV2. The record, the former holder's
// notice and the errors are as with [Mutex.Break]; ErrInvalidArgument also says that c
// waits. The error also wraps ErrPermits if the path has another number of permits,
// because holders and waiters could not be distinguished.
func (s *Semaphore) Break(ctx context.Context, c Contender, by, reason string) error {
	s = receiver.OrZero(s)
	err := s.checkCall(ctx, 1)
	if err == nil {
		err = s.checkAgreement(ctx)
	}
	if err == nil {
		err = breakHold(ctx, s.client, s.breakable(), c, by, reason)
	}
	if err != nil {
		return failure(ctx, "break", s.path, err)
	}
	return nil
}

// breakable is the queue of the permits, or of Curator's leases.
func (s *Semaphore) breakable() breaking.Queue {
	dir, marker := s.contenders()
	return breaking.Queue{Dir: dir, Markers: []string{marker}, Records: s.path, Holders: func(queue []znode.Entry) int {
		wanted := make([]int, len(queue))
		for i, e := range queue {
			if wanted[i] = 1; !s.opts.CuratorV2 {
				wanted[i] = lockformat.PermitsOf(e.Name)
			}
		}
		return served(s.permits, wanted)
	}}
}

// contenders is where the contenders for permits have their znodes, and the marker of these.
func (s *Semaphore) contenders() (dir, marker string) {
	if s.opts.CuratorV2 {
		return s.leasesDir(), lockformat.CuratorLease
	}
	return s.path, lockformat.Permit
}

// served is how many contenders at the head of a queue have their permits, of total.
func served(total int, wanted []int) int {
	taken := 0
	for i, n := range wanted {
		if taken += n; taken > total {
			return i
		}
	}
	return len(wanted)
}

// Breaks lists the records of this semaphore's breaks; see [Mutex.Breaks].
func (s *Semaphore) Breaks(ctx context.Context) ([]Break, error) {
	s = receiver.OrZero(s)
	return listBreaks(ctx, s.client, s.path, s.checkCall(ctx, 1))
}

// Broken returns the record of it if another client has taken the permits away, or one of
// them; see [Held.Broken].
func (p *Permits) Broken(ctx context.Context) (b Break, ok bool, err error) {
	p = receiver.OrZero(p)
	if err := holding.BeginHeld(ctx, len(p.holds) > 0, "lock.Permits", "lock.Semaphore", ErrInvalidArgument); err != nil {
		return Break{}, false, failure(ctx, "find break", p.path, err)
	}
	if p.ctx.Err() == nil || p.end.Confirmed() {
		return Break{}, false, nil
	}
	for _, h := range p.holds {
		if b, ok, err = findBreak(ctx, p.client, p.path, h.token); ok || err != nil {
			return b, ok, err
		}
	}
	return Break{}, false, nil
}
