package history

import (
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Options are the optional arguments of NewReader. nil means all defaults.
type Options struct {
	// Until ends the reading before the first transaction after a moment; default: at the
	// end of the logs.
	Until time.Time
	// Began, Granted and Ended are called by Run in the order of the transactions, Ended also
	// at the end for stays that last, with Stay.Ended nil, unless there are steps.
	Began, Granted, Ended func(*Stay)
	// Thing is called with each thing that comes or changes, and the moment; but not with each
	// change of contenders in a queue that has no serious problem then.
	Thing func(*recognize.Thing, Moment)
	// Herd is called with each herd; nil if they are not looked for.
	Herd func(Herd)
	// Report receives what the readers of the files find.
	Report func(txnlog.Finding)

	// steps is called with each step; nil for none.
	steps steps
	// whole recognizes each transaction.
	whole bool
}

// steps are the steps of a Reader.
type steps interface {
	// begin is called when the first state exists, with the reader's znodes, and its stays that
	// last.
	begin(at Moment, nodes map[string]*recognize.Node, open map[place]*Stay)
	// described is called when a stay has changed that is neither granted nor ended by it.
	described(*Stay)
	// before is called before each later transaction is applied. The reading ends if the
	// result is false.
	before(txn *txnlog.Txn) bool
	// after is called with the znodes that the transaction has changed; nil for deleted ones.
	// Those in fresh were not there before it.
	after(changed map[string]*recognize.Node, fresh map[string]bool)
}

// Summary is what a Reader has read.
type Summary struct {
	// First is the first state, Last the last transaction that was read.
	First Moment
	Last  Moment
	// Recorded is true for a recording, whose transactions are changes that were seen.
	Recorded bool
	// Root is the path at and below which the znodes are known.
	Root string
	// Snapshot is the file of the first state; empty if the logs begin with the ensemble.
	Snapshot string
	// Transactions counts all that were read, and Changes those that changed something at
	// or below the root.
	Transactions int64
	Changes      int64
}
