package election_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestQueue runs the scenarios that all queue recipes share.
func TestQueue(t *testing.T) {
	const runs = "Run campaigns again after a loss"
	target := func(o *election.Options) queuetest.Target {
		return queuetest.Target{
			Path: dir, NotHeld: election.ErrNotLeader,
			New: func(c *session.Client, path string) queuetest.Contender {
				e := election.New(c, path, o)
				return queuetest.Contender{
					Acquire: queuetest.Acquiring(e.Campaign),
					Enters: map[string]func(context.Context) error{
						"Stand": queuetest.Failing(e.Stand),
						"Run": func(ctx context.Context) error {
							return e.Run(ctx, func(context.Context, *election.Leadership) error { return nil })
						},
					},
					Reads: map[string]func(context.Context) error{
						"Leader": queuetest.Failing(e.Leader), "Candidates": queuetest.Failing(e.Candidates),
						"Observe": func(ctx context.Context) (last error) {
							for _, last = range e.Observe(ctx) {
							}
							return last
						},
					},
				}
			},
			Except: map[string]string{
				"DoTellsOfLossAndOfTheWork": runs, "DoEndsWithItsContextWhateverTheNetworkDoes": runs,
				"DoReleasesWhenTheWorkPanics_CH36": runs, "WorkMayReleaseWithTheContextThatItGot": runs,
			},
		}
	}
	queuetest.Run(t, map[string]queuetest.Target{"election": target(nil), "standby": target(&election.Options{Standby: true})})
}
