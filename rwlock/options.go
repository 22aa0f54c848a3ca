package rwlock

import (
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of an [RWMutex]; nil and the zero value mean all defaults.
type Options struct {
	// ID describes the contender to other clients; it is the data of the znodes.
	// Default: host name, colon, process id.
	ID string
	// Data is shown to other clients instead of ID. Kazoo shows Data as the
	// identifier, Curator as the participant's node data.
	Data []byte
	// Layout of the names that are written; default: Curator.
	Layout Layout
	// Grace is how long the function of [RWMutex.Do] and [RWMutex.RDo] may go on after the
	// context that was passed to them has ended, to finish work in progress: only then the
	// function's own context ends, with the same cause. A loss of the lock ends it at once,
	// before the grace and in it; so does the loss or the release of anything else held that the
	// context is derived from. Default: 0, the function's context ends with the one that was
	// passed.
	Grace time.Duration
	// ACL of the znodes; default: the client's. All contenders must be allowed to
	// create, delete and list the children of the path, and to read them.
	ACL []session.ACL
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if err := holding.CheckGrace(out.Grace, ErrInvalidArgument); err != nil {
		return out, err
	}
	if _, err := out.Layout.newName(reader); err != nil {
		return out, err
	}
	out.Data, out.ACL = slices.Clone(out.Data), slices.Clone(out.ACL) // the caller may change them
	if out.Data == nil {
		if out.ID == "" {
			out.ID = holding.DefaultID()
		}
		out.Data = []byte(out.ID)
	}
	return out, nil
}
