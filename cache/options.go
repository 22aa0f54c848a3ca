package cache

import "fmt"

// DefaultBuffer is the default of [Options.Buffer].
const DefaultBuffer = 1024

// Options of a view; nil and the zero value mean all defaults.
type Options struct {
	// MaxDepth of a Tree: 1 is the root and its children. Default: 0, no limit.
	// Other views ignore it.
	MaxDepth int
	// Filter selects the full paths of the view; a path below a path outside the
	// view is outside too. Filter is not called for the view's own path. Filter
	// must always return the same answer for a path, and runs on the goroutine of
	// Run. Default: all paths.
	Filter func(path string) bool
	// Buffer is the number of events that may wait for each reader of Events; a
	// reader that falls further behind gets a snapshot instead. Default:
	// DefaultBuffer.
	Buffer int
	// EventPath is the path of the view in the events for an observer of the client, which is
	// a label of metrics. Set it for a view of a path that is another one each time, such as
	// one with a session's id. Default: the view's path.
	EventPath string
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	switch {
	case out.MaxDepth < 0:
		return out, fmt.Errorf("%w: MaxDepth is %d; it must be 0 (no limit) or more", ErrInvalidArgument, out.MaxDepth)
	case out.Buffer < 0:
		return out, fmt.Errorf("%w: Buffer is %d; it must be 0 (default) or more", ErrInvalidArgument, out.Buffer)
	}
	if out.Buffer == 0 {
		out.Buffer = DefaultBuffer
	}
	return out, nil
}
