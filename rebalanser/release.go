package rebalanser

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// release gives barriers back that this client has: each on condition of the version
// that it has taken it at, and of its own node, without which others may have taken
// it. What an unanswered transaction has done is read before it is repeated.
func (p *seat) release(ctx context.Context, grips map[string]grip, names []string) error {
	unclear := false
	return p.s.Retry(ctx, func() (err error) {
		if unclear {
			if names, err = p.still(ctx, grips, names); err != nil {
				return err
			}
		}
		names, err = p.let(ctx, grips, names)
		unclear = true
		return err
	})
}

// still says which barriers this client has not released yet.
func (p *seat) still(ctx context.Context, grips map[string]grip, names []string) ([]string, error) {
	var out []string
	for part := range batches(names, window, maxTxn, func(n string) int { return len(n) }) {
		futures := make([]*session.Future[session.Seen], len(part))
		for i, name := range part {
			futures[i] = p.s.StartGet(p.at.barrier(name), false)
		}
		err := answers(ctx, futures, func(i int, seen session.Seen, there bool) {
			b := readBarrier(part[i], seen, there)
			if b.owner == p.client && b.version == grips[b.name].version {
				out = append(out, part[i])
			}
		})
		if err != nil {
			return names, err
		}
	}
	return out, nil
}

// let releases what it can, and returns what it does not know of.
func (p *seat) let(ctx context.Context, grips map[string]grip, names []string) (left []string, err error) {
	free := encode(barrierRecord{})
	for len(names) > 0 {
		var next []string
		parts := slices.Collect(batches(names, maxOps, maxTxn, func(n string) int { return len(n) + len(free) + perOp }))
		futures := make([]*session.Future[[]session.Result], len(parts))
		for i, part := range parts {
			ops := []session.Op{p.guard()}
			for _, name := range part {
				ops = append(ops, session.SetOp(p.at.barrier(name), free, grips[name].version))
			}
			futures[i] = p.s.StartTxn(ops...)
		}
		for i, part := range parts {
			_, e := futures[i].Wait(ctx)
			at := culprit(e) - 1
			switch {
			case e == nil:
			case at < 0 && errors.Is(e, session.ErrNoNode) && culprit(e) == 0:
				// This client is no member any more: what it had is anybody's.
			case at >= 0 && (errors.Is(e, session.ErrBadVersion) || errors.Is(e, session.ErrNoNode)):
				// It is not this client's any more: it was released by the
				// attempt before, or somebody has removed it.
				next = append(append(next, part[:at]...), part[at+1:]...)
			default:
				left, err = append(left, part...), errors.Join(err, e)
			}
		}
		if names = next; err != nil {
			return append(left, names...), err
		}
	}
	return nil, nil
}
