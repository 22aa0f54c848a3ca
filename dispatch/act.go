package dispatch

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// perTxn is how many moves one transaction has at most: with the longest
	// records it stays below what servers accept.
	perTxn = 64
	// maxMoves is how many moves are under way at a time.
	maxMoves = 8 * perTxn
)

// outcome is what has become of the moves of one transaction.
type outcome struct {
	moves []move
	err   error
}

// act carries out moves: first many of them in one transaction, and then those of one
// that has failed each by itself. The outcome of each is on the board then.
func (t *term) act(ctx context.Context, moves []move) error {
	groups := slices.Collect(slices.Chunk(moves, perTxn))
	for len(groups) > 0 {
		var alone [][]move
		var unclear []outcome
		for _, o := range t.carryOut(ctx, groups) {
			tooLarge := errors.Is(o.err, session.ErrTooLarge)
			switch {
			case o.err == nil:
			case t.deposed(o.err):
				return t.patiently(ctx, func() error { return o.err })
			case len(o.moves) > 1 && (conflict(o.err) || tooLarge):
				alone = append(alone, slices.Collect(slices.Chunk(o.moves, 1))...)
			case conflict(o.err) || tooLarge || session.Interrupted(o.err):
				unclear = append(unclear, o)
			default:
				return o.err
			}
		}
		if err := t.resolve(ctx, unclear); err != nil {
			return err
		}
		t.pause(ctx, unclear)
		groups = alone
	}
	return nil
}

// pause waits if transactions have cost the connection, and longer each time in a row.
func (t *term) pause(ctx context.Context, unclear []outcome) {
	for _, o := range unclear {
		if session.Interrupted(o.err) && !session.NotSent(o.err) {
			_ = t.s.BackOff(ctx, t.lost) // its end is seen by who goes on
			t.lost++
			return
		}
	}
	t.lost = 0
}

// carryOut sends one transaction for each group, together, and puts on the board
// what has succeeded.
func (t *term) carryOut(ctx context.Context, groups [][]move) []outcome {
	type sent struct {
		answer *session.Future[[]session.Result]
		first  []int // of the operations of each move
	}
	var under []sent
	for _, group := range groups {
		ops, x := []session.Op{t.l.Guard()}, sent{}
		for _, m := range group {
			x.first = append(x.first, len(ops))
			ops = append(ops, t.ops(m)...)
		}
		x.answer = t.s.StartTxn(ops...)
		under = append(under, x)
	}
	out := make([]outcome, len(groups))
	for i, x := range under {
		results, err := x.answer.Wait(ctx)
		out[i] = outcome{groups[i], err}
		if err != nil {
			continue
		}
		t.update(func(b *board) {
			for k, m := range groups[i] {
				t.show(b, m, results[x.first[k]+1].Stat.Mzxid)
			}
		})
	}
	return out
}

// ops are the operations of a move. The second one of all that have a next record
// sets it.
func (t *term) ops(m move) []session.Op {
	task := &m.task
	l := t.layout
	switch {
	case m.kind == removeTask:
		return l.removal(task.ID, task.Run, task.version)
	case m.kind == giveTask:
		return l.give(task, m.next, t.create)
	}
	if m.next.State.Finished() {
		return l.end(task, m.next, nil, t.create)
	}
	return l.free(task, m.next)
}

// show puts on the board what a move has made of its task.
func (t *term) show(b *board, m move, mzxid int64) {
	if m.kind == removeTask {
		b.drop(m.task.ID, m.task.czxid)
	} else {
		b.renew(seen{record: m.next, version: m.task.version + 1, czxid: m.task.czxid, mzxid: mzxid})
	}
	b.settle(m)
}

// resolve finds out what has become of moves that failed, or were not answered.
func (t *term) resolve(ctx context.Context, unclear []outcome) error {
	var ids []string
	for _, o := range unclear {
		for _, m := range o.moves {
			ids = append(ids, m.task.ID)
		}
	}
	if err := t.refresh(ctx, ids); err != nil {
		return err
	}
	t.update(func(b *board) {
		for _, o := range unclear {
			for _, m := range o.moves {
				if !session.Interrupted(o.err) {
					t.blame(b, m, o.err)
				}
				b.settle(m)
			}
		}
	})
	return nil
}

// blame tells the board why the one move of a transaction has failed. As a rule the
// task has changed, and the board knows by now.
func (t *term) blame(b *board, m move, err error) {
	path, reason := culprit(err)
	missing := errors.Is(reason, session.ErrNoNode)
	switch {
	case missing && m.kind == giveTask && path == t.assignment(m.next.Worker, m.next.Assignment):
		b.fire(m.next.Worker) // it has no folder: it has left
	case missing && m.task.State == assigned && path == t.assignment(m.task.Worker, m.task.Assignment):
		b.refused(m, true)
	default:
		b.refused(m, false)
	}
}

// refresh reads tasks that are on the board as they are now.
func (t *term) refresh(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, together) {
		if err := t.patiently(ctx, func() error { return t.reread(ctx, chunk) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *term) reread(ctx context.Context, ids []string) error {
	known := map[string]int64{}
	t.mu.Lock()
	for _, id := range ids {
		if e := t.board.tasks[id]; e != nil {
			known[id] = e.czxid
		}
	}
	t.mu.Unlock()
	r := newReading(ctx)
	synced := t.s.StartSync(t.at(tasksDir))
	reads := map[string]*session.Future[session.Seen]{}
	for id := range known {
		reads[id] = t.s.StartGet(t.task(id), false)
	}
	r.Synced(synced)
	for id, read := range reads {
		task := r.task(read)
		if errors.Is(r.Err, ErrRecord) {
			r.Err, task = nil, nil // somebody has written something else
		}
		if r.Err != nil {
			return r.Err
		}
		t.update(func(b *board) {
			if task == nil {
				b.drop(id, known[id]) // not what has come under its id since
			} else {
				b.renew(*task)
			}
		})
	}
	return nil
}
