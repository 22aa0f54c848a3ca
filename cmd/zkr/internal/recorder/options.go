package recorder

import "time"

// DefaultMaxData is the default of Options.MaxData: the largest records of the recipes fit.
const DefaultMaxData = 300 << 10

// DefaultMaxWaiting is the default of Options.MaxWaiting.
const DefaultMaxWaiting = 64 << 20

// Event is something that a user of the recorder should know.
type Event struct {
	// Kind is "recording" when the recording has begun or goes on after a gap, "lost" when
	// the connection is lost, "full" when the disk is full, "clock" when the machine's clock
	// was set back, and "stopped" at the end.
	Kind string `json:"event"`
	// At is when it happened. After is the beginning of the gap.
	At    time.Time `json:"at"`
	After time.Time `json:"not_recorded_after,omitzero"`
	// Why is the reason of the gap, or the error of "full", or what "clock" means.
	Why string `json:"why,omitempty"`
	// Znodes is the number of znodes, and Changes that of the changes so far.
	Znodes  int `json:"znodes"`
	Changes int `json:"changes"`
	// Files and Bytes are those of the whole recording.
	Files int   `json:"files"`
	Bytes int64 `json:"bytes,string"`
}

// Options are the optional arguments of New. nil means all defaults.
type Options struct {
	// MaxData is how many bytes of each znode's data are kept. Of data that is no record of
	// a recipe, less is kept: see recognize.NewNode. Default: DefaultMaxData.
	MaxData int
	// Notify is called for each event by the goroutine of Run. Default: none.
	Notify func(Event)
	// Progress is called after each beat, by the goroutine of Run. Default: none.
	Progress func(Event)
	// Clock is the machine's clock. Default: time.Now.
	Clock func() time.Time
	// MaxWaiting is how much memory the changes that wait for a slow disk may take, in bytes.
	// If more wait, the recording has a gap. Default: DefaultMaxWaiting.
	MaxWaiting int
}

// withDefaults fills in the defaults.
func (o *Options) withDefaults() (out Options) {
	if o != nil {
		out = *o
	}
	if out.MaxData == 0 {
		out.MaxData = DefaultMaxData
	}
	if out.MaxWaiting == 0 {
		out.MaxWaiting = DefaultMaxWaiting
	}
	if out.Clock == nil {
		out.Clock = time.Now
	}
	for _, fn := range []*func(Event){&out.Notify, &out.Progress} {
		if *fn == nil {
			*fn = func(Event) {}
		}
	}
	return out
}
