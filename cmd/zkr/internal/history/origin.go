package history

import (
	"context"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Origin is what a history is read from: the files of one or several servers of an ensemble, or
// a recording.
type Origin struct {
	Servers   []*txnlog.Folder
	Recording *recording.Folder // or nil
}

// Reader reads the history of the znodes at and below a root: see NewReader and
// NewRecordingReader.
func (f *Origin) Reader(ctx context.Context, root string, o *Options) (*Reader, error) {
	if f.Recording != nil {
		return NewRecordingReader(ctx, root, f.Recording, o)
	}
	return NewReader(ctx, root, f.Servers, o)
}

// Names are the names of the servers, or of the recording.
func (f *Origin) Names() (out []string) {
	if f.Recording != nil {
		return []string{f.Recording.Name}
	}
	for _, s := range f.Servers {
		out = append(out, s.Name)
	}
	return out
}
