package locktable

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// format is that of all records.
const format = tableformat.Format

// record is the data of a lock, whose format package tableformat has.
type record = tableformat.Lock

// decodeRecord reads the record of the lock on path. Empty data means a free lock. A
// foreign record does not free the lock, because the holder is unknown.
func (o *Options) decodeRecord(path string, data []byte) (record, error) {
	r, err := tableformat.Decode(data, o.OwnerName)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, tableformat.ErrGarbage):
		err = fmt.Errorf("%w: %s has the data %.60q", ErrRecord, path, data)
	default:
		err = fmt.Errorf("%w: %s: %w", ErrRecord, path, err)
	}
	return record{}, fmt.Errorf("%w; the holder of the lock is not known, and no client takes the lock: "+
		"when no process works under the lock any more, set the data of this znode to the empty string", err)
}
