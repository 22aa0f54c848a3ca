package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// plan is how the end of a job fits into its session.
type plan struct {
	timeout time.Duration // of the session
	grace   time.Duration // from TERM to KILL
	last    time.Duration // from KILL until all must be gone
}

// reserve is how long before the end of trust the stopping begins.
func (p plan) reserve() time.Duration { return p.grace + p.last }

// share is the part of the session timeout that the reserve may take.
const share = 4

// fit plans a grace under a session timeout; ok is false if the grace had to be
// shortened to what fits.
func fit(timeout, grace time.Duration) (p plan, ok bool) {
	p = plan{timeout: timeout, grace: grace, last: min(500*time.Millisecond, timeout/16)}
	if most := timeout/share - p.last; grace > most {
		p.grace = most.Truncate(time.Millisecond)
		return p, false
	}
	return p, true
}

// wish is the session timeout to ask for when nobody says which: long enough
// that the reserve leaves time to get over a lost server, and within what
// servers grant by default with a tick of 2 s.
func wish(grace time.Duration) time.Duration {
	whole := (6*grace + time.Second - 1).Truncate(time.Second)
	return min(max(whole, session.DefaultTimeout), 40*time.Second)
}

// connectFor connects with a session in which the job's grace fits, or says on
// w by how much it had to be shortened.
func (a *app) connectFor(ctx context.Context, j *job, w io.Writer) (*session.Client, plan, error) {
	o, err := a.options()
	if err != nil {
		return nil, plan{}, err
	}
	chosen := o.Timeout
	if chosen == 0 {
		o.Timeout = wish(j.grace)
	}
	p, ok := fit(o.Timeout, j.grace)
	if ok || chosen == 0 && !j.graceIs {
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
		p, ok = fit(o.Timeout, j.grace)
	}
	if !ok && j.graceIs {
		return nil, p, &failure{code: exitUsage, err: errTooLong(j.grace, p),
			hint: "the whole command must be gone before a server can give the lock to somebody else"}
	}
	if !ok {
		note(w, "a grace of %v is too long for a session timeout of %v; it is %v now", j.grace, p.timeout, p.grace)
	}
	o.Reserve = p.reserve()
	client, err := a.connect(ctx, o)
	return client, p, err
}

func errTooLong(grace time.Duration, p plan) error {
	return usage("--grace %v is too long for a session timeout of %v: use at most %v, or a --session-timeout of %v or more",
		grace, p.timeout, p.grace, (share*(grace+500*time.Millisecond) + time.Second - 1).Truncate(time.Second))
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
