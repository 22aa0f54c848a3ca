package counter

import (
	"context"
	"errors"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// batcher is a number in a znode, with the awaited changes of this process's
// goroutines.
type batcher struct {
	*batchwrite.Batcher[int64]
	format Format
}

// setup is what the constructors tell newBatcher.
type setup struct {
	// initial is the data of a missing znode; nil for the default of the format.
	initial []byte
	// marker ends the names of markers; default: counterformat.WriterBase.
	marker string
	stock  *stock // only of a Sequence
}

func newBatcher(client *session.Client, path string, o Options, with setup) *batcher {
	bo := batchwrite.Options[int64]{ACL: o.ACL, Initial: with.initial, Marker: with.marker}
	if bo.Initial == nil && o.Format == CuratorInt {
		// No data means 0 to every library but Curator's SharedCount, which throws.
		bo.Initial = CuratorInt.encode(0)
	}
	if bo.Marker == "" {
		bo.Marker = counterformat.WriterBase
	}
	if with.stock != nil {
		bo.Stock = with.stock
	}
	b := &batcher{batchwrite.New(client, path, "a counter", bo), o.Format}
	if err := o.Format.check(); err != nil {
		b.Refuse(err)
	}
	if o.Block != 0 && with.stock == nil {
		b.Refuse(errOnlySequence)
	}
	return b
}

// orMissing is b, or that of a zero value; constructor names the function to call.
func (b *batcher) orMissing(constructor string) *batcher {
	if b == nil {
		return &batcher{Batcher: batchwrite.Missing[int64](constructor)}
	}
	return b
}

// change carries o out.
func (b *batcher) change(ctx context.Context, o *op) (outcome, error) {
	o.format = b.format
	return b.Change(ctx, o)
}

// watch has the states that view makes of the znode's.
func watch[S comparable](ctx context.Context, b *batcher, create bool, view batchwrite.View[S]) iter.Seq2[S, error] {
	return batchwrite.Watch(ctx, b.Batcher, "counter", create, view, func(a, b S) bool { return a == b })
}

// errOnlySequence: an option of sequences was given to something else.
var errOnlySequence = errors.New("option Block is for a Sequence only")
