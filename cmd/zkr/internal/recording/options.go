package recording

import (
	"errors"
	"fmt"
	"os"
)

// The defaults of Options, and the smallest values.
const (
	DefaultMaxFile  int64 = 16 << 20
	DefaultMaxTotal int64 = 1 << 30
	minMaxFile      int64 = 4 << 10
)

// Options are the optional arguments of NewWriter. nil means all defaults.
type Options struct {
	// MaxFile is the length at which the next file is begun, in bytes. A file may be as long
	// as twice the state at its beginning. Default: DefaultMaxFile.
	MaxFile int64
	// MaxTotal is the greatest length of all files together, in bytes, at least twice
	// MaxFile. Default: DefaultMaxTotal.
	MaxTotal int64
	// Write writes to a file of the recording, as (*os.File).Write, the default, does. Tests
	// fill a disk with it.
	Write func(*os.File, []byte) (int, error)
}

// ErrInvalidArgument means that an option is invalid.
var ErrInvalidArgument = errors.New("invalid argument")

// WithDefaults checks the options and fills in the defaults.
func (o *Options) WithDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.MaxFile == 0 {
		out.MaxFile = DefaultMaxFile
	}
	if out.MaxTotal == 0 {
		out.MaxTotal = DefaultMaxTotal
	}
	if out.Write == nil {
		out.Write = (*os.File).Write
	}
	switch {
	case out.MaxFile < minMaxFile:
		return out, fmt.Errorf("recording: %w: MaxFile must be at least %d bytes, got %d", ErrInvalidArgument, minMaxFile, out.MaxFile)
	case out.MaxTotal < 2*out.MaxFile:
		return out, fmt.Errorf("recording: %w: MaxTotal must be at least twice MaxFile, %d bytes, got %d", ErrInvalidArgument, 2*out.MaxFile, out.MaxTotal)
	}
	return out, nil
}
