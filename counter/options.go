package counter

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Counter], [Shared] or [Sequence]; nil and the zero value mean
// all defaults.
type Options struct {
	// Format of the number; default: CuratorLong. A [Shared] always has
	// CuratorInt: leave Format zero there.
	Format Format
	// Block is the number of numbers reserved at a time by a [Sequence], at
	// least 1; default: 1. Reserved numbers not handed out before the end of a
	// process are skipped. Leave Block zero for the other types.
	Block int
	// ACL of the znodes; default: the client's. A client that changes a counter
	// must also be allowed to create children of the znode.
	ACL []session.ACL
}

// checked is o, with the error of an invalid argument.
func (o *Options) checked(client *session.Client, path string) (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change its slice
	if err := session.ValidatePath(path); err != nil {
		return out, fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
	}
	if path == "/" {
		return out, fmt.Errorf("%w: path is the root; a counter must be below it", ErrInvalidArgument)
	}
	if client == nil {
		return out, fmt.Errorf("%w: client is nil", ErrInvalidArgument)
	}
	return out, out.Format.check()
}
