package counter

import "github.com/zkrecipes/zkrecipes/session"

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

// orDefault is o, or the defaults.
func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}
