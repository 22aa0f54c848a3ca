package counter

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Counter], [Shared] or [Sequence]; nil and the zero value mean
// all defaults.
type Options struct {
	// Format of the number; default: CuratorLong. A [Shared] has always
	// CuratorInt: leave it zero there.
	Format Format
	// Block is how many numbers a [Sequence] reserves at a time, at least 1;
	// default: 1. What a process has reserved and not handed out when it ends is
	// skipped. Leave it zero for the other types.
	Block int
	// ACL of the znodes; default: the client's. Whoever changes a counter must
	// be allowed to create children of it, too.
	ACL []session.ACL
}

// checked is o, and what is wrong with it and the other arguments.
func (o *Options) checked(client *session.Client, path string) (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if err := session.ValidatePath(path); err != nil {
		return out, fmt.Errorf("%w: path: %w", ErrArgument, err)
	}
	if path == "/" {
		return out, fmt.Errorf("%w: path is the root, which is no counter", ErrArgument)
	}
	if client == nil {
		return out, fmt.Errorf("%w: client is nil", ErrArgument)
	}
	return out, out.Format.check()
}
