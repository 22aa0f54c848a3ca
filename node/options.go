package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// minTTL is the smallest TTL: servers look for expired znodes once a minute, by default.
const minTTL = time.Second

// maxTTL is what the servers can store.
const maxTTL = (1<<40 - 1) * time.Millisecond

// Options of a [Node]; nil and the zero value mean all defaults.
type Options struct {
	// TTL of the modes session.PersistentTTL and session.PersistentSequentialTTL: how
	// long the znode exists, at least, after the last keeper has gone. From one second to
	// some 34 years (2^40-1 ms), in whole milliseconds. It has no default in these
	// modes, and must be 0 in others.
	TTL time.Duration
	// Wait makes Keep wait, within its context, while another client has the znode,
	// instead of returning ErrConflict. Default: false.
	Wait bool
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
}

// check returns the options to use.
func (o *Options) check(mode session.Mode) (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	switch {
	case mode < session.Persistent || mode > session.PersistentSequentialTTL:
		return out, fmt.Errorf("%w: mode is %d", ErrInvalidArgument, mode)
	case !hasTTL(mode) && out.TTL != 0:
		return out, fmt.Errorf("%w: TTL is %v for a mode without a TTL", ErrInvalidArgument, out.TTL)
	case hasTTL(mode) && (out.TTL < minTTL || out.TTL > maxTTL):
		return out, fmt.Errorf("%w: TTL is %v; it must be from %v to %v", ErrInvalidArgument, out.TTL, minTTL, maxTTL)
	}
	return out, nil
}

// hasTTL reports whether znodes of the mode expire.
func hasTTL(mode session.Mode) bool {
	return mode == session.PersistentTTL || mode == session.PersistentSequentialTTL
}

// isSequential reports whether the server appends a number to the name.
func isSequential(mode session.Mode) bool {
	switch mode {
	case session.EphemeralSequential, session.PersistentSequential, session.PersistentSequentialTTL:
		return true
	}
	return false
}

// isEphemeral reports whether a znode of the mode goes with the session.
func isEphemeral(mode session.Mode) bool {
	return mode == session.Ephemeral || mode == session.EphemeralSequential
}
