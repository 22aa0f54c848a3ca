package serving

import (
	"context"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/fence"
)

const (
	// DefaultDrainTimeout is the default of [Options.DrainTimeout].
	DefaultDrainTimeout = 10 * time.Second
	// DefaultRetryAfter is the default of [Options.RetryAfter].
	DefaultRetryAfter = time.Second
)

// Options of a [Leader]; nil and the zero value mean all defaults.
type Options struct {
	// DrainTimeout is how long admitted requests may take after the context of Run has
	// ended: then their contexts end. Default: [DefaultDrainTimeout]. Negative: no limit.
	DrainTimeout time.Duration
	// RetryAfter is what a refused request is told to wait, in whole seconds, rounded up.
	// Default: [DefaultRetryAfter].
	RetryAfter time.Duration
	// Address returns the address of the leader, for the header [LeaderHeader] of refused
	// requests and for [Leader.Address]; usually the candidate's ID, if [election.Options]
	// has the address as ID. Clients see the result. Every instance then follows the
	// election, at the cost of [election.Elector.Observe]. Default: none.
	Address func(leader election.Candidate) string
	// Issuer makes a fencing token at the begin of each leadership, before Start: the
	// contexts of requests, Start and Stop have the token. If the token cannot be made, Run
	// gives the leadership back and returns the error. Default: none.
	Issuer *fence.Issuer
	// Start is called at the begin of each leadership, before requests are admitted: it
	// loads state, or starts what the requests need. Its context ends when the leadership
	// ends, or Run's context. If Start fails, Run gives the leadership back and returns the
	// error; Stop is not called. Default: none.
	Start func(ctx context.Context, lead *election.Leadership) error
	// Stop is called after the last request of a leadership, also after a loss, and before
	// the leadership is given back: it stops what Start has started. Its context has the
	// values of Run's context and does not end; Stop must return by itself. Default: none.
	Stop func(ctx context.Context, lead *election.Leadership) error
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.RetryAfter < 0 {
		return out, fmt.Errorf("%w: RetryAfter is %v; it must be 0 or more", ErrInvalidArgument, out.RetryAfter)
	}
	if out.DrainTimeout == 0 {
		out.DrainTimeout = DefaultDrainTimeout
	}
	if out.RetryAfter == 0 {
		out.RetryAfter = DefaultRetryAfter
	}
	return out, nil
}
