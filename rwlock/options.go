package rwlock

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of an [RWMutex]; nil and the zero value mean all defaults.
type Options struct {
	// ID says to others who holds or waits; it is the data of the znodes.
	// Default: host name, colon, process id.
	ID string
	// Data is shown to others instead of ID. Kazoo shows it as the
	// identifier, Curator as the participant's node data.
	Data []byte
	// Layout of the names that are written; default: Curator.
	Layout Layout
	// ACL of the znodes; default: the client's. All who contend must be allowed
	// to create, delete and list the children of the path, and to read them.
	ACL []session.ACL
}

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if _, err := out.Layout.name(reader); err != nil {
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
