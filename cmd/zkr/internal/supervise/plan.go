package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// DefaultGrace is the time between TERM and KILL.
const DefaultGrace = 5 * time.Second

// Plan is how the end of a run fits into its session.
type Plan struct {
	timeout time.Duration // of the session
	Grace   time.Duration // from TERM to KILL
	Last    time.Duration // from KILL until all must be gone
}

// reserve is how long before the end of trust the stopping begins.
func (p Plan) reserve() time.Duration { return p.Grace + p.Last }

// graceShare is the part of the session timeout that the stop margin may take.
const graceShare = 4

// minKillTime and maxKillTime bound the time from KILL until all must be gone. To kill takes
// milliseconds, but zkr may have to wait for a processor first, on a busy machine for
// more than the least.
const minKillTime, maxKillTime = 500 * time.Millisecond, 2 * time.Second

// fitGrace plans a grace under a session timeout, and a tenth of the timeout
// for the end; ok is false if the grace was shortened. The end takes no more
// than the tenth, even if the grace leaves more of the share: the stop margin
// is taken from the time that a server, or a busy machine, may be silent before
// the command is stopped.
func fitGrace(timeout, grace time.Duration) (p Plan, ok bool) {
	least := min(minKillTime, timeout/16)
	if most := timeout/graceShare - least; grace > most {
		return Plan{timeout: timeout, Grace: most.Truncate(time.Millisecond), Last: least}, false
	}
	return Plan{timeout: timeout, Grace: grace, Last: min(maxKillTime, timeout/10, timeout/graceShare-grace)}, true
}

// usualMaxTimeout is the longest session timeout that servers grant by default:
// 20 ticks of 2 s.
const usualMaxTimeout = 40 * time.Second

// preferredTimeout is the default session timeout to ask for: long enough that
// the stop margin leaves time to survive a lost server, and within the servers'
// default limits.
func preferredTimeout(grace time.Duration) time.Duration {
	whole := (6*grace + time.Second - 1).Truncate(time.Second)
	return min(max(whole, session.DefaultTimeout), usualMaxTimeout)
}

// ConnectFor connects with a session in which the grace fits, or notes by how
// much the grace was shortened.
func ConnectFor(ctx context.Context, a *cli.App, e *RunSpec) (*session.Client, Plan, error) {
	o, err := a.Options()
	if err != nil {
		return nil, Plan{}, err
	}
	if e.Renewed {
		// No end of a session stops the command: any timeout will do.
		client, err := a.Connect(ctx, o)
		return client, Plan{timeout: cmp.Or(o.Timeout, session.DefaultTimeout), Grace: e.Grace}, err
	}
	chosen := o.Timeout
	if chosen == 0 {
		o.Timeout = preferredTimeout(e.Grace)
	}
	p, ok := fitGrace(o.Timeout, e.Grace)
	if ok || chosen == 0 && !e.graceIs {
		o.StopMargin = p.reserve()
		client, err := a.Connect(ctx, o)
		if err == nil || chosen != 0 || !errors.Is(err, session.ErrTimeoutRefused) {
			return client, p, err
		}
		// The servers' limits are not the usual ones: take the servers' timeout.
		o.Timeout, o.StopMargin = 0, 0
		if o.Timeout, err = granted(ctx, a, o); err != nil {
			return nil, p, err
		}
		p, ok = fitGrace(o.Timeout, e.Grace)
	}
	if !ok && e.graceIs {
		return nil, p, &exit.Failure{Code: exit.CodeUsage, Err: errTooLong(e.Grace, p),
			Hint: "the whole command must be gone before a server can grant the hold to another client"}
	}
	if !ok {
		a.Note("a grace of %v is too long for a session timeout of %v; it is %v now", e.Grace, p.timeout, p.Grace)
	}
	o.StopMargin = p.reserve()
	client, err := a.Connect(ctx, o)
	return client, p, err
}

func errTooLong(grace time.Duration, p Plan) error {
	needed := (graceShare*(grace+minKillTime) + time.Second - 1).Truncate(time.Second)
	text := fmt.Sprintf("--grace %v is too long for a session timeout of %v: use at most %v, or a --session-timeout of %v or more", grace, p.timeout, p.Grace, needed)
	if needed > usualMaxTimeout {
		most, _ := fitGrace(usualMaxTimeout, grace)
		text += fmt.Sprintf(", if the servers grant that: their maxSessionTimeout is %v by default, which allows a grace of %v", usualMaxTimeout, most.Grace)
	}
	return exit.Usage("%s", text)
}

// granted is the session timeout that the servers choose.
func granted(ctx context.Context, a *cli.App, o *session.Options) (time.Duration, error) {
	client, err := a.Connect(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = cli.CloseClient(ctx, client) }()
	s, err := client.Session(ctx)
	if err != nil {
		return 0, err
	}
	return s.Timeout(), nil
}
