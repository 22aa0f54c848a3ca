package node

import (
	"time"

	"github.com/zkrecipes/zkrecipes/internal/keeping"
)

// State says whether a kept znode exists at the moment.
type State struct {
	Exists bool
	// Path is the path of the znode, or of the last znode while none exists, and Token
	// its czxid, which grows with every creation.
	Path  string
	Token int64
	// Since is the time at which this state began.
	Since time.Time
	// Err says why the znode does not exist: ErrConflict, session.ErrReleased, or another
	// error of package session. While a TTL znode exists, Err says why it cannot be
	// refreshed, so that it will expire, and be created again.
	Err error
}

func stateOf(s keeping.State) State {
	return State{Exists: s.Registered, Path: s.Path, Token: s.Token, Since: s.Since, Err: s.Err}
}
