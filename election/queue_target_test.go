package election_test

import (
	"context"
	"maps"
	"testing"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/session"
)

// suiteContender makes contenders of an election for the suite of the queue recipes.
func suiteContender(o *election.Options) func(c *session.Client, path string) queuetest.Contender {
	return func(c *session.Client, path string) queuetest.Contender {
		e := election.New(c, path, o)
		return queuetest.Contender{
			Acquire: queuetest.Acquiring(e.Campaign), Enqueue: queuetest.Enqueuing(e.Stand), Count: queuetest.Counting(e.Candidates),
			Breakers: queuetest.Breaking(e.Candidates, e.Depose), Breaks: queuetest.Records(e.Depositions, suiteBreak),
			FindBreak: queuetest.Finding((*election.Leadership).Deposed, suiteBreak),
			Enters: map[string]func(context.Context) error{
				"Run": func(ctx context.Context) error {
					return e.Run(ctx, func(context.Context, *election.Leadership) error { return nil })
				},
			},
			Reads: map[string]func(context.Context) error{
				"Leader": queuetest.Failing(e.Leader),
				"Observe": func(ctx context.Context) (last error) {
					for _, last = range e.Observe(ctx) {
					}
					return last
				},
			},
		}
	}
}

func suiteBreak(d election.Deposition) queuetest.Break {
	return queuetest.Break{Session: d.Session, By: d.By, Reason: d.Reason}
}

// TestQueue runs the scenarios that all queue recipes share.
func TestQueue(t *testing.T) {
	const (
		runs  = "Run campaigns again after a loss"
		tries = "every candidate waits"
	)
	of := func(layout election.Layout) func(*session.Client, string) queuetest.Contender {
		return suiteContender(&election.Options{Layout: layout})
	}
	suite := func(o election.Options) func(*session.Client, string) queuetest.Contender { return suiteContender(&o) }
	crowded := func(layout election.Layout) func(*session.Client, string) queuetest.Contender {
		return suiteContender(&election.Options{Layout: layout, MaxQueue: 1})
	}
	except := map[string]string{
		"DoTellsOfLossAndOfTheWork": runs, "DoEndsWithItsContextWhateverTheNetworkDoes": runs,
		"DoConfirmsItsReleaseAfterTheEndOfItsContext": runs, "DoReleasesWhenTheWorkPanics_CH36": runs,
		"WorkMayReleaseWithTheContextThatItGot": runs,
		"TriesLeaveNothing_P14_P15":             tries, "TryUnderEveryFault": tries,
	}
	exceptCrowded := maps.Clone(except)
	exceptCrowded["AcquireAfterALongPauseIsAtMostThreeRequests"] = "a stranger's child fills the queue"
	exceptCrowded["PredecessorThatGoesBeforeTheWatchIsSet_P20_CH26"] = "the third waits outside, without a predecessor"
	exceptRanked := maps.Clone(except)
	maps.Copy(exceptRanked, map[string]string{
		"AcquireAfterALongPauseIsAtMostThreeRequests":           "it is four, see TestPriorityCostsFewRequests",
		"EphemeralParentIsRefused":                              "Stand enters the queue with its first Await",
		"ExhaustedSequenceIsRefused_P18_PD8":                    "Stand enters the queue with its first Await",
		"FolderDeletedAgainAndAgain":                            "there are two folders",
		"PredecessorThatGoesBeforeTheWatchIsSet_P20_CH26":       "a candidate watches a place, not the predecessor in the queue",
		"UncontendedIsTwoRequestsInOneRoundTripAndReleaseIsOne": "it is four in two, see TestPriorityCostsFewRequests",
	})
	queuetest.Run(t, map[string]queuetest.Target{
		"election with a waiting room": {
			Path: dir, Says: "election: campaign", NotHeld: election.ErrNotLeader, Gone: election.ErrNoLeader, Withdrawn: election.ErrWithdrawn, New: crowded(election.LeaderLatch),
			Layouts:  []func(*session.Client, string) queuetest.Contender{crowded(election.Kazoo)},
			Prefixes: []string{"_c_x-latch-", "_c_x-lock-", "x__lock__"},
			Except:   exceptCrowded,
		},
		"election with priorities": {
			Path: dir, Says: "election: campaign", NotHeld: election.ErrNotLeader, Gone: election.ErrNoLeader, Withdrawn: election.ErrWithdrawn, New: suite(election.Options{Priority: 3}),
			Layouts:  []func(*session.Client, string) queuetest.Contender{suite(election.Options{Priority: 3, Layout: election.Kazoo})},
			Prefixes: []string{"_c_x-latch-", "_c_x-lock-", "x__lock__"},
			Except:   exceptRanked,
		},
		"election": {
			Path: dir, Says: "election: campaign", NotHeld: election.ErrNotLeader, Gone: election.ErrNoLeader, Withdrawn: election.ErrWithdrawn, New: of(election.LeaderLatch),
			Layouts:  []func(*session.Client, string) queuetest.Contender{of(election.LeaderSelector), of(election.Kazoo)},
			Prefixes: []string{"_c_x-latch-", "_c_x-lock-", "x__lock__"},
			Strangers: []string{
				"config", "latch", "latch-", "latch-123", "x", "_c_", "0000000000", "-0000000001", "n_0000000000", "c_0000000000",
				"_c_1-lease-0000000000", "latch-00000000x0", "a__lock__", "patch-0000000000", "latch-+000000001", "latch-9999999999",
			},
			Except: except,
		},
	})
}
