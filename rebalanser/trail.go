package rebalanser

import (
	"context"
	"slices"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// trail follows resources that are on their way from one member to another, when their
// number is limited.
type trail struct {
	p       *seat
	moves   []core.Move
	watches []*session.Watch
}

// follow says which moves there are now.
func (t *trail) follow(moves []core.Move) { t.moves = slices.Clone(moves) }

func (t *trail) under() bool { return len(t.moves) > 0 }

func (t *trail) stop() {
	for _, w := range t.watches {
		w.Stop()
	}
	t.watches = nil
}

// left reads which moves are not over, and calls fired when that may have changed. A
// move is over when its target owns the resource, or has gone.
func (t *trail) left(ctx context.Context, alive func(client string) bool, fired func()) ([]core.Move, error) {
	t.stop()
	futures := make([]*session.Future[session.Seen], len(t.moves))
	for i, mv := range t.moves {
		futures[i] = t.p.s.StartGet(t.p.at.barrier(mv.Resource), true)
	}
	var out []core.Move
	var missing []string
	err := answers(ctx, futures, func(i int, seen session.Seen, there bool) {
		mv, b := t.moves[i], readBarrier(t.moves[i].Resource, seen, there)
		if b.watch != nil {
			t.watches = append(t.watches, b.watch)
		} else {
			missing = append(missing, b.name)
		}
		if alive(mv.Client) && b.owner != mv.Client {
			out = append(out, mv)
		}
	})
	if err == nil {
		err = t.await(ctx, missing)
	}
	if err != nil {
		return nil, err
	}
	t.moves = out
	for _, w := range t.watches {
		w.OnFire(func(session.Event) { fired() })
	}
	return out, nil
}

// await sets watches on barriers that nobody has made yet.
func (t *trail) await(ctx context.Context, names []string) error {
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = t.p.s.StartExists(t.p.at.barrier(name), true)
	}
	return answers(ctx, futures, func(i int, seen session.Seen, _ bool) {
		t.watches = append(t.watches, seen.Watch)
	})
}
