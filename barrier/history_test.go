package barrier_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// call is one Await, or the stay of one Enter, of a party with its own ID and
// sequential calls.
type call struct {
	id         string
	start, end time.Time
	round      int64
	err        error
}

func (c call) unknown() bool { return errors.Is(c.err, session.ErrUnknownOutcome) }

// left reports whether c has returned an unknown outcome for n's creation. n
// may be created much later: a leader without followers may commit the creation
// when it has followers again.
func (c call) left(n arrived) bool {
	var unknown *session.UnknownOutcomeError
	return errors.As(c.err, &unknown) && unknown.Path != "" && strings.HasPrefix(n.path, unknown.Path)
}

// opening is a round as seen by the server.
type opening struct {
	at    time.Time
	nodes []arrived
}

// arrived is a party's znode, with its creation time.
type arrived struct {
	id   string
	at   time.Time
	path string
}

var (
	errReady = errors.New("not all were ready")
	errHeld  = errors.New("let through, and not told")
	errFree  = errors.New("passed, and not let through")
)

// checkAwaits checks calls of a Barrier against the server's history: round n
// is openings[n-1].
func checkAwaits(openings []opening, calls []call, parties int) error {
	byID := map[string][]call{}
	for _, c := range calls {
		byID[c.id] = append(byID[c.id], c)
	}
	told := map[string]bool{}
	for i, o := range openings {
		distinct := map[string]bool{}
		for _, n := range o.nodes {
			if err := judgeOne(byID[n.id], n, o.at, int64(i+1)); err != nil {
				return fmt.Errorf("round %d, %s: %w", i+1, n.id, err)
			}
			distinct[n.id] = true
			told[fmt.Sprint(n.id, i+1)] = true
		}
		if len(distinct) != parties {
			return fmt.Errorf("round %d: %w: %v", i+1, errReady, o.nodes)
		}
	}
	for _, c := range calls {
		if c.err == nil && !told[fmt.Sprint(c.id, c.round)] {
			return fmt.Errorf("%s, round %d: %w", c.id, c.round, errFree)
		}
	}
	return nil
}

// checkRounds checks calls of a Barrier by their results alone: at most all
// parties pass a round, and all of them were present at one moment.
func checkRounds(calls []call, parties int) error {
	rounds := map[int64][]call{}
	for _, c := range calls {
		if c.err == nil {
			rounds[c.round] = append(rounds[c.round], c)
		}
	}
	for n, in := range rounds {
		if len(in) > parties {
			return fmt.Errorf("round %d: %w", n, errCrowd)
		}
		for _, a := range in {
			for _, b := range in {
				if a.end.Before(b.start) {
					return fmt.Errorf("round %d, %s and %s: %w", n, a.id, b.id, errReady)
				}
			}
		}
	}
	return nil
}

// judgeOne checks the release of n, the znode of a party with these calls: the
// creating call returned the round, or an unknown outcome. Calls may begin and
// end in one instant of virtual time.
func judgeOne(calls []call, n arrived, opened time.Time, round int64) error {
	verdict := errReady
	for i, c := range calls {
		switch {
		case c.left(n):
			return nil
		case c.start.After(n.at), i+1 < len(calls) && calls[i+1].start.Before(n.at):
			// Another call has created the znode.
		case c.err == nil && c.round == round && !c.end.Before(opened):
			return nil
		case c.end.After(opened):
			verdict = fmt.Errorf("%w: %w in round %d", errHeld, c.err, c.round)
		}
	}
	return verdict
}

// opened notes the rounds of the barrier dir: the transaction deletes as many as
// were let through, then stale ones, if there are any.
func opened(srv *zktest.Server, parties int, note func(opening)) {
	born := map[string]time.Time{}
	srv.OnApply(func(tx zktest.Txn) {
		if tx.Code != 0 || len(tx.Paths) == 0 {
			return
		}
		if world.Creates(tx.Op) {
			born[tx.Paths[0]] = tx.At
		}
		if tx.Op != "multi" || !slices.Contains(tx.Paths, dir) {
			return
		}
		o := opening{at: tx.At}
		for _, path := range tx.Paths {
			if name, ok := strings.CutPrefix(path, dir+"/"); ok && len(o.nodes) < parties {
				o.nodes = append(o.nodes, arrived{idIn(name), born[path], path})
			}
		}
		if len(o.nodes) > 0 { // otherwise a check
			note(o)
		}
	})
}

// idIn is the ID in a party's name.
func idIn(name string) string {
	return strings.TrimSuffix(name[len("_c_6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10-"):len(name)-10], "-party-")
}

// stay is a seat of a Double, from Enter to the call of Leave or the loss.
type stay struct {
	id              string
	asked, from, to time.Time
	round           int64
	left            time.Time // the time of Leave's nil; zero otherwise
}

var (
	errCrowd  = errors.New("more are inside than there may be")
	errEarly  = errors.New("one entered before all had asked")
	errRounds = errors.New("two rounds are inside")
	errLeft   = errors.New("left while another was inside")
)

// checkStays judges the seats of a Double.
func checkStays(stays []stay, parties int) error {
	rounds := map[int64][]stay{}
	for _, s := range stays {
		rounds[s.round] = append(rounds[s.round], s)
	}
	for n, in := range rounds {
		if len(in) > parties {
			return fmt.Errorf("round %d: %w: %d", n, errCrowd, len(in))
		}
		for _, a := range in {
			for _, b := range in {
				switch {
				case a.from.Before(b.asked):
					return fmt.Errorf("round %d, %s and %s: %w", n, a.id, b.id, errEarly)
				case !a.left.IsZero() && a.left.Before(b.to):
					return fmt.Errorf("round %d, %s at %v, %s until %v: %w", n, a.id, a.left, b.id, b.to, errLeft)
				}
			}
			for _, b := range rounds[n+1] {
				if b.from.Before(a.to) {
					return fmt.Errorf("rounds %d and %d, %s until %v, %s from %v: %w", n, n+1, a.id, a.to, b.id, b.from, errRounds)
				}
			}
		}
	}
	return nil
}
