package election_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// TestThirdThatWaitsUnderEveryFault: two candidates ahead of the third lead one
// after the other; the third must lead when both have resigned, not before.
func TestThirdThatWaitsUnderEveryFault(t *testing.T) {
	var first *election.Leadership
	var second *election.Candidacy
	world.Trial{
		Name: "Campaign behind two", Paths: []string{dir}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			if first, err = other(p); err == nil {
				second, err = elector(p.Other, "second").Stand(context.Background())
			}
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			both := make(chan error, 1)
			// Waited for below; ends when both have resigned.
			go func() { both <- reignInTurn(first, second) }()
			l, err := election.New(p.Tested, dir, &election.Options{ID: "tested"}).Campaign(ctx)
			if err == nil {
				if last, e := second.Await(context.Background()); e != nil || last.Context().Err() == nil {
					return world.ErrBroken
				}
			}
			if e := <-both; e != nil {
				return fmt.Errorf("those ahead: %w", e)
			}
			if err != nil {
				return err
			}
			if err := alone(p, l); err != nil {
				return err
			}
			return l.Resign(ctx)
		},
	}.Run(t)
}

// reignInTurn has first lead for two seconds more, and then second for one second.
func reignInTurn(first *election.Leadership, second *election.Candidacy) error {
	world.Pause(2 * time.Second)
	if err := first.Resign(context.Background()); err != nil {
		return err
	}
	l, err := second.Await(context.Background())
	if err != nil {
		return err
	}
	world.Pause(time.Second)
	return l.Resign(context.Background())
}
