package rebalanser

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
)

// format is that of all records.
const format = shareformat.Format

// The records, whose format package shareformat has.
type (
	groupRecord    = shareformat.Group
	memberRecord   = shareformat.Member
	epochRecord    = shareformat.Epoch
	statusRecord   = shareformat.Status
	configRecord   = shareformat.Config
	shardRecord    = shareformat.Shard
	failuresRecord = shareformat.Failures
	failureRecord  = shareformat.Failure
)

// encode writes a record, which it is given a pointer to, or another value.
func encode(value any) []byte { return shareformat.Encode(value) }

// decode reads the record of the znode on path. Empty data, which a node has before it
// is first written, is a record without anything. The error wraps ErrRecord, and names
// the path.
func decode[T groupRecord | epochRecord | statusRecord | configRecord | shardRecord | failuresRecord](path string, data []byte) (T, error) {
	out, err := shareformat.Decode[T](data)
	return out, recordError(path, data, err)
}

// decodeMember decodes the record of the member whose node is on path. A record that no
// member of a group of this mode writes is an error, and its owner gets no resources.
func decodeMember(mode Mode, path string, data []byte) (memberRecord, error) {
	m, err := shareformat.DecodeMember(mode.String(), data)
	return m, recordError(path, data, err)
}

// recordError is the error of a record that cannot be read; nil if err is nil.
func recordError(path string, data []byte, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, shareformat.ErrGarbage):
		return garbageError(path, data)
	}
	return fmt.Errorf("%w: %s: %w", ErrRecord, path, err)
}

// garbageError is the error of data that is not a record of this package, in any
// format.
func garbageError(path string, data []byte) error {
	return fmt.Errorf("%w: %s has the data %.60q", ErrRecord, path, data)
}

// isNewer reports whether err says that a record has a format that this version does not
// know. Such a record is never replaced.
func isNewer(err error) bool {
	var newer *versioned.FormatError
	return errors.As(err, &newer)
}
