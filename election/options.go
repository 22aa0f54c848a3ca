package election

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of an [Elector]; nil and the zero value mean all defaults.
type Options struct {
	// ID says to others who the candidate is; valid UTF-8. Default: host name,
	// colon, process id.
	ID string
	// Data is what others see of the candidate, as its znode's data; default:
	// the ID. With Data of its own a candidate is seen without its ID, unless
	// Data contains it. All of a request must fit into the servers'
	// jute.maxbuffer (1,048,575 bytes by default): otherwise campaigning fails
	// with session.ErrTooLarge.
	Data []byte
	// Layout of the names that candidates write; default: LeaderLatch.
	Layout Layout
	// Standby makes hand-overs fast: a candidate that is third or further back
	// also watches the last but one before it, and lists the queue when that
	// goes. So whoever is next in line has seen its predecessor lead, and leads
	// without a round trip when that goes; otherwise it has to list the queue
	// first, unless it has been second from the start. It costs each candidate
	// one watch more, and the going of a leader wakes two instead of one.
	Standby bool
	// ACL of the znodes; default: the client's. All candidates must be allowed to
	// create, delete and list the children of the path, and to read them.
	ACL []session.ACL
}

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if _, err := out.Layout.name(); err != nil {
		return out, err
	}
	if !utf8.ValidString(out.ID) {
		return out, fmt.Errorf("%w: ID is %q, which is not valid UTF-8", ErrArgument, out.ID)
	}
	if out.ID == "" {
		out.ID = holding.DefaultID()
	}
	out.Data, out.ACL = slices.Clone(out.Data), slices.Clone(out.ACL) // the caller may change them
	if out.Data == nil {
		out.Data = []byte(out.ID)
	}
	return out, nil
}
