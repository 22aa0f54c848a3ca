package cache

import "fmt"

// DefaultBuffer is how many events wait for a slow reader unless
// [Options.Buffer] says otherwise.
const DefaultBuffer = 1024

// Options of a view; nil and the zero value mean all defaults.
type Options struct {
	// MaxDepth of a Tree: 1 is the root and its children. Default: 0, no
	// limit. Other views have none to set.
	MaxDepth int
	// Filter says which paths, full ones, are in the view; what is below one
	// that is not, is not either. It is not asked about the view's own path.
	// It must give the same answer whenever it is asked, and runs on the
	// goroutine of Run. Default: all.
	Filter func(path string) bool
	// Buffer is how many events may wait for each reader of Events; one that
	// falls further behind gets a snapshot instead. Default: DefaultBuffer.
	Buffer int
}

// withDefaults checks o and fills in what it leaves open.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	switch {
	case out.MaxDepth < 0:
		return out, fmt.Errorf("%w: MaxDepth is %d; it must be 0 (no limit) or more", ErrArgument, out.MaxDepth)
	case out.Buffer < 0:
		return out, fmt.Errorf("%w: Buffer is %d; it must be 0 (default) or more", ErrArgument, out.Buffer)
	}
	if out.Buffer == 0 {
		out.Buffer = DefaultBuffer
	}
	return out, nil
}
