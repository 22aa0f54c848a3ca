package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

var errRank = errors.New("another candidate leads than the best")

// modelCandidate is a candidate of the model: one client each.
type modelCandidate struct {
	id       string
	priority int
	client   *session.Client
	k        *election.Candidacy
	out      <-chan won
}

// rankModel knows who must lead: the leader stays, and the best of the waiting candidates
// follows, of equal ones the first.
type rankModel struct {
	w       *World
	r       *rand.Rand
	n       int
	leader  *modelCandidate
	waiting []*modelCandidate // in the order in which they came
}

// next is the candidate that leads next, taken out of the waiting ones; nil if none waits.
func (m *rankModel) next() *modelCandidate {
	if len(m.waiting) == 0 {
		return nil
	}
	best := 0
	for i, c := range m.waiting {
		if c.priority > m.waiting[best].priority {
			best = i
		}
	}
	c := m.waiting[best]
	m.waiting = slices.Delete(m.waiting, best, best+1)
	return c
}

// loseReplies makes the server lose the reply to a coming write of the client, one time in three.
func (m *rankModel) loseReplies(c *session.Client) {
	if m.r.IntN(3) > 0 {
		return
	}
	id := m.w.ID(c)
	m.w.Server.FailNth(func(r zktest.Request) bool {
		return r.Session == id && r.Op != "ping" && r.Op != "setWatches" && r.Op != "setWatches2"
	}, 1+m.r.IntN(3), zktest.Action{Do: zktest.DropReplyCut})
}

func (m *rankModel) join() error {
	m.n++
	c := &modelCandidate{id: fmt.Sprint(m.n), priority: 1 + m.r.IntN(3), client: m.w.Client()}
	m.loseReplies(c.client)
	k, err := election.New(c.client, dir, &election.Options{ID: c.id, Priority: c.priority}).Stand(m.w.Ctx)
	if err != nil {
		return err
	}
	c.k, c.out = k, m.w.startWin(m.w.Ctx, k.Await)
	m.waiting = append(m.waiting, c)
	return nil
}

// step does one thing, and lets the model do the same.
func (m *rankModel) step() error {
	quit := func(c *modelCandidate) error {
		m.loseReplies(c.client)
		if m.r.IntN(2) == 0 {
			m.w.Expire(c.client)
			return ignoreLoss(c.k.Withdraw(m.w.Ctx))
		}
		return c.k.Withdraw(m.w.Ctx)
	}
	switch what := m.r.IntN(6); {
	case what < 3 || m.leader == nil:
		return m.join()
	case what == 3 && len(m.waiting) > 0:
		i := m.r.IntN(len(m.waiting))
		c := m.waiting[i]
		m.waiting = slices.Delete(m.waiting, i, i+1)
		return quit(c)
	default:
		c := m.leader
		m.leader = nil
		return quit(c)
	}
}

// check compares the servers with the model.
func (m *rankModel) check() error {
	m.w.Pass(3 * time.Second)
	if m.leader == nil {
		m.leader = m.next()
	}
	list, err := elector(m.w.Client(), "").Candidates(m.w.Ctx)
	if err != nil {
		return err
	}
	if m.leader == nil {
		if len(list) > 0 {
			return fmt.Errorf("%w: %v is still listed", errRank, list)
		}
		return nil
	}
	if len(list) != 1+len(m.waiting) || list[0].ID != m.leader.id || !list[0].Leads {
		return fmt.Errorf("%w: want %s and %d more, got %+v", errRank, m.leader.id, len(m.waiting), list)
	}
	l, err := m.leader.k.Await(m.w.Ctx)
	if err != nil || l.Context().Err() != nil {
		return fmt.Errorf("%w: %s does not lead: %w", errRank, m.leader.id, err)
	}
	for _, c := range m.waiting {
		if len(c.out) > 0 {
			return fmt.Errorf("%w: %s, too", errRank, c.id)
		}
	}
	return nil
}

// TestRankedElectionsAreThoseOfTheModel: random joins, withdrawals, resignations and deaths, with
// lost replies; after each, the leader is the one of the model.
func TestRankedElectionsAreThoseOfTheModel(t *testing.T) {
	world.Needs(t, world.Resumes) // a client that loses a reply stays in the model
	world.RunSeeds(t, world.Seeds(12), 1, func(w *world.World, seed uint64) error {
		m := &rankModel{w: &World{w}, r: rand.New(rand.NewPCG(seed, 11))}
		for i := range 25 {
			if err := m.step(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			if err := m.check(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		for m.leader != nil {
			if err := m.leader.k.Withdraw(context.WithoutCancel(w.Ctx)); err != nil {
				return err
			}
			m.leader = nil
			if err := m.check(); err != nil {
				return err
			}
		}
		return m.w.NothingLeft(dir, proclaimed, ranked)
	})
}
