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
func (o *Origin) Reader(ctx context.Context, root string, options *Options) (*Reader, error) {
	if o.Recording != nil {
		return NewRecordingReader(ctx, root, o.Recording, options)
	}
	return NewReader(ctx, root, o.Servers, options)
}

// Names are the names of the servers, or of the recording.
func (o *Origin) Names() (out []string) {
	if o.Recording != nil {
		return []string{o.Recording.Name}
	}
	for _, s := range o.Servers {
		out = append(out, s.Name)
	}
	return out
}
