package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// perTxn is how many moves one transaction has at most: with the longest records
	// it stays below the limit of servers.
	perTxn = 64
	// maxMoves is how many moves are in progress at a time.
	maxMoves = 8 * perTxn
	// together is how many reads are in flight at a time.
	together = 512
)

// outcome is the outcome of the moves of one transaction.
type outcome struct {
	moves []move
	err   error
}

// carryOutMoves carries out moves: many of them in one transaction, and after a failed
// transaction each of its moves by itself. The scheduler then has the outcome of each.
func (t *mastership) carryOutMoves(ctx context.Context, moves []move) error {
	groups := slices.Collect(slices.Chunk(moves, perTxn))
	for len(groups) > 0 {
		var alone [][]move
		var unclear, outdated []outcome
		for _, o := range t.sendBatches(ctx, groups) {
			tooLarge := errors.Is(o.err, session.ErrTooLarge)
			switch {
			case o.err == nil:
			case t.isDeposed(o.err):
				return t.retryInSession(ctx, func() error { return o.err })
			case t.isAboutAdmission(o.err):
				outdated = append(outdated, o)
			case len(o.moves) > 1 && (isConflict(o.err) || tooLarge):
				alone = append(alone, slices.Collect(slices.Chunk(o.moves, 1))...)
			case isConflict(o.err) || tooLarge || session.IsConnectionLoss(o.err):
				unclear = append(unclear, o)
			default:
				return o.err
			}
		}
		if err := t.resolveOutcomes(ctx, unclear); err != nil {
			return err
		}
		t.dropMoves(outdated)
		t.pauseAfterLoss(ctx, unclear)
		groups = alone
	}
	return nil
}

// isAboutAdmission reports whether a transaction has failed since admission has changed, or is
// gone: the queue may be paused.
func (t *mastership) isAboutAdmission(err error) bool {
	path, reason := optimistic.Culprit(err)
	return reason != nil && path == t.at(admissionDir)
}

// dropMoves drops moves that were planned by an admission that has changed: they are planned
// again by the present one.
func (t *mastership) dropMoves(outdated []outcome) {
	if len(outdated) == 0 {
		return
	}
	t.stale.Store(true)
	t.updateScheduler(func(sc *scheduler) {
		for _, o := range outdated {
			for _, m := range o.moves {
				sc.settleMove(m)
			}
		}
	})
}

// pauseAfterLoss waits if transactions have cost the connection, and longer each time in a row.
func (t *mastership) pauseAfterLoss(ctx context.Context, unclear []outcome) {
	for _, o := range unclear {
		if session.IsConnectionLoss(o.err) && !session.NotSent(o.err) {
			_ = t.s.BackOff(ctx, t.lost) // the next request reports its end
			t.lost++
			return
		}
	}
	t.lost = 0
}

// sendBatches sends one transaction for each group, together, and puts on the scheduler
// what has succeeded.
func (t *mastership) sendBatches(ctx context.Context, groups [][]move) []outcome {
	type sent struct {
		answer *session.Future[[]session.Result]
		first  []int // of the operations of each move
	}
	var under []sent
	for _, group := range groups {
		ops, x := []session.Op{t.l.Guard()}, sent{}
		if slices.ContainsFunc(group, func(m move) bool { return m.kind == giveTask }) {
			ops = append(ops, session.CheckOp(t.at(admissionDir), t.version))
		}
		for _, m := range group {
			x.first = append(x.first, len(ops))
			ops = append(ops, t.editsOf(m).toOps(t.create)...)
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
		if last := groups[i][len(groups[i])-1]; last.kind != removeTask {
			t.clock.setTo(results[x.first[len(groups[i])-1]+1].Stat)
		}
		t.updateScheduler(func(sc *scheduler) {
			for k, m := range groups[i] {
				t.showMove(sc, m, results[x.first[k]+1].Stat)
			}
		})
		t.reportMoves(ctx, groups[i], t.clock.now())
	}
	return out
}

// editsOf are the transaction of a move. The second edit of all that have a next record
// sets it.
func (t *mastership) editsOf(m move) transaction {
	task := &m.task
	l := t.layout
	switch {
	case m.kind == removeTask:
		return l.deleteTask(task.ID, task.Run, task.version)
	case m.kind == giveTask:
		return l.assignTask(task, m.next)
	}
	if m.next.State.Finished() {
		return l.finishTask(task, m.next, nil)
	}
	return l.freeTask(task, m.next)
}

// showMove updates the scheduler with the task as the move has written it.
func (t *mastership) showMove(sc *scheduler, m move, written session.Stat) {
	if m.kind == removeTask {
		sc.dropTask(m.task.ID, m.task.czxid)
	} else {
		written.Czxid, written.Version = m.task.czxid, m.task.version+1
		sc.renewTask(seenAs(m.next, written))
		sc.noteOwnChange(m.task.ID, m.connection)
	}
	sc.settleMove(m)
}

// resolveOutcomes finds out the outcome of moves that failed, or were not answered.
func (t *mastership) resolveOutcomes(ctx context.Context, unclear []outcome) error {
	var ids []string
	for _, o := range unclear {
		if err := t.repairMove(ctx, o); err != nil {
			return err
		}
		for _, m := range o.moves {
			ids = append(ids, m.task.ID)
		}
	}
	if err := t.refreshTasks(ctx, ids); err != nil {
		return err
	}
	var done []move
	t.updateScheduler(func(sc *scheduler) {
		for _, o := range unclear {
			for _, m := range o.moves {
				if !session.IsConnectionLoss(o.err) {
					t.blameMove(sc, m, o.err)
				} else if !session.NotSent(o.err) && sc.wasCarriedOut(m) {
					done = append(done, m)
				}
				sc.settleMove(m)
			}
		}
	})
	t.reportMoves(ctx, done, t.clock.now())
	return nil
}

// repairMove creates again the znodes that a move has missed.
func (t *mastership) repairMove(ctx context.Context, o outcome) error {
	if m := &o.moves[0]; len(o.moves) > 1 || !t.isDamaged(&m.task, o.err) {
		return nil
	}
	return t.retryInSession(ctx, func() error {
		err := t.repairTask(ctx, o.moves[0].task.ID)
		if isConflict(err) || errors.Is(err, ErrRecord) {
			return nil // it has changed meanwhile, or the blame is on the move
		}
		return err
	})
}

// blameMove tells the scheduler why the one move of a transaction has failed. Usually the
// task has changed, and the scheduler knows by now.
func (t *mastership) blameMove(sc *scheduler, m move, err error) {
	path, reason := optimistic.Culprit(err)
	missing := errors.Is(reason, session.ErrNoNode)
	switch {
	case t.isDamaged(&m.task, err) && sc.noteRepair(m):
	case missing && m.kind == giveTask && path == t.assignmentPath(m.next.Worker, m.next.Assignment):
		sc.removeWorker(m.next.Worker) // it has no folder: it has left
	case missing && m.task.State == assigned && path == t.assignmentPath(m.task.Worker, m.task.Assignment):
		sc.rejectMove(m, true)
	default:
		sc.rejectMove(m, false)
	}
}

// refreshTasks reads tasks that are on the scheduler as they are now.
func (t *mastership) refreshTasks(ctx context.Context, ids []string) error {
	for chunk := range slices.Chunk(ids, together) {
		if err := t.retryInSession(ctx, func() error { return t.rereadTasks(ctx, chunk) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *mastership) rereadTasks(ctx context.Context, ids []string) error {
	known := map[string]int64{}
	t.mu.Lock()
	for _, id := range ids {
		if e := t.scheduler.tasks[id]; e != nil {
			known[id] = e.czxid
		}
	}
	t.mu.Unlock()
	r := newReading(ctx, t.s)
	r.Sync(t.at(tasksDir))
	ids = slices.Collect(maps.Keys(known))
	nodes := r.GetAll(t.taskPaths(ids)...)
	if r.Err != nil {
		return r.Err
	}
	for i, id := range ids {
		task, err := t.decodeSeen(t.taskPath(id), nodes[i])
		if err != nil {
			task = nil // the record was overwritten by hand
		}
		t.updateScheduler(func(sc *scheduler) {
			if task == nil {
				sc.dropTask(id, known[id]) // not what has come under its id since
			} else {
				sc.renewTask(*task)
			}
		})
	}
	return nil
}
