package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// plan is how the end of an errand fits into its session.
type plan struct {
	timeout time.Duration // of the session
	grace   time.Duration // from TERM to KILL
	last    time.Duration // from KILL until all must be gone
}

// reserve is how long before the end of trust the stopping begins.
func (p plan) reserve() time.Duration { return p.grace + p.last }

// share is the part of the session timeout that the reserve may take.
const share = 4

// leastLast and mostLast bound the time from KILL until all must be gone. To kill takes
// milliseconds; but zkr may have to wait for a processor first, on a busy machine for
// more than the least.
const leastLast, mostLast = 500 * time.Millisecond, 2 * time.Second

// fit plans a grace under a session timeout, and takes as much of what is left of its
// share for the end as may be of use; ok is false if the grace had to be shortened to
// what fits.
func fit(timeout, grace time.Duration) (p plan, ok bool) {
	least := min(leastLast, timeout/16)
	if most := timeout/share - least; grace > most {
		return plan{timeout: timeout, grace: most.Truncate(time.Millisecond), last: least}, false
	}
	return plan{timeout: timeout, grace: grace, last: max(least, min(mostLast, timeout/share-grace))}, true
}

// usualLimit is the longest session timeout that servers grant by default: 20 ticks of
// 2 s.
const usualLimit = 40 * time.Second

// wish is the session timeout to ask for when nobody says which: long enough
// that the reserve leaves time to get over a lost server, and within what
// servers grant by default.
func wish(grace time.Duration) time.Duration {
	whole := (6*grace + time.Second - 1).Truncate(time.Second)
	return min(max(whole, session.DefaultTimeout), usualLimit)
}

// connectFor connects with a session in which the errand's grace fits, or says by how
// much it had to be shortened.
func (a *app) connectFor(ctx context.Context, e *errand) (*session.Client, plan, error) {
	o, err := a.options()
	if err != nil {
		return nil, plan{}, err
	}
	if e.kept {
		// No end of a session stops the command: any timeout will do.
		client, err := a.connect(ctx, o)
		return client, plan{timeout: cmp.Or(o.Timeout, session.DefaultTimeout), grace: e.grace}, err
	}
	chosen := o.Timeout
	if chosen == 0 {
		o.Timeout = wish(e.grace)
	}
	p, ok := fit(o.Timeout, e.grace)
	if ok || chosen == 0 && !e.graceIs {
		o.Reserve = p.reserve()
		client, err := a.connect(ctx, o)
		if err == nil || chosen != 0 || !errors.Is(err, session.ErrTimeoutRefused) {
			return client, p, err
		}
		// The servers' limits are not the usual ones: take what they grant.
		o.Timeout, o.Reserve = 0, 0
		if o.Timeout, err = a.granted(ctx, o); err != nil {
			return nil, p, err
		}
		p, ok = fit(o.Timeout, e.grace)
	}
	if !ok && e.graceIs {
		return nil, p, &failure{code: exitUsage, err: errTooLong(e.grace, p),
			hint: "the whole command must be gone before a server can let somebody else in"}
	}
	if !ok {
		a.note("a grace of %v is too long for a session timeout of %v; it is %v now", e.grace, p.timeout, p.grace)
	}
	o.Reserve = p.reserve()
	client, err := a.connect(ctx, o)
	return client, p, err
}

func errTooLong(grace time.Duration, p plan) error {
	needed := (share*(grace+leastLast) + time.Second - 1).Truncate(time.Second)
	text := fmt.Sprintf("--grace %v is too long for a session timeout of %v: use at most %v, or a --session-timeout of %v or more", grace, p.timeout, p.grace, needed)
	if needed > usualLimit {
		most, _ := fit(usualLimit, grace)
		text += fmt.Sprintf(", if the servers grant that: their maxSessionTimeout is %v by default, which allows a grace of %v", usualLimit, most.grace)
	}
	return usage("%s", text)
}

// granted is the session timeout that the servers grant by themselves.
func (a *app) granted(ctx context.Context, o *session.Options) (time.Duration, error) {
	client, err := a.connect(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = hangUp(ctx, client) }()
	s, err := client.Session(ctx)
	if err != nil {
		return 0, err
	}
	return s.Timeout(), nil
}
