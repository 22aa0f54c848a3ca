package provider

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// The defaults of [Options], which are those of Curator's DownInstancePolicy.
const (
	DefaultDownThreshold = 2
	DefaultDownFor       = 30 * time.Second
)

// Options of a [Provider]; nil and the zero value mean all defaults.
type Options struct {
	// Filter selects the instances that may be used. Filter is called again
	// whenever the list changes, and must not call the provider. Disabled and
	// malformed instances are never used. Default: all.
	Filter func(discovery.Instance) bool
	// DownThreshold is the number of failures in a row after which an instance is
	// set aside; default: DefaultDownThreshold. Negative: never.
	DownThreshold int
	// DownFor is the time for which an instance is set aside; default:
	// DefaultDownFor.
	DownFor time.Duration
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.DownFor < 0 {
		return out, fmt.Errorf("%w: DownFor is %v; it must be 0 (default) or more", ErrInvalidArgument, out.DownFor)
	}
	if out.DownThreshold == 0 {
		out.DownThreshold = DefaultDownThreshold
	}
	if out.DownFor == 0 {
		out.DownFor = DefaultDownFor
	}
	return out, nil
}
