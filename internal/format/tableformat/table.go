// Package tableformat is the format of tables of locks: the znodes that package locktable
// writes, and package rebalanser by it. Each lock that was ever taken is a persistent
// child of the table's path. The format is this library's alone. The package is pure; the
// dashboard reads tables by it.
package tableformat

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

const (
	// OwnersSuffix makes, of a table's path, the path of the folder that has a znode per
	// owner, unless the user names another one.
	OwnersSuffix = ".owners"
	// OwnerBase ends the names of the znodes of owners, "_c_<uuid>-owner", ephemeral.
	OwnerBase = "owner"
	// Format is that of all records. Records without a format have format 1.
	Format = 1
)

// Lock is the data of a lock. The lock is free if Client is empty, or if the owner with
// that name has gone.
type Lock struct {
	Format int    `json:"format"`
	Client string `json:"client,omitempty"`

	versioned.Kept
}

// Encode writes the record.
func (l *Lock) Encode() []byte {
	data, err := versioned.Marshal(l, 0)
	if err != nil {
		panic(err) // a number, a string, and JSON
	}
	return data
}

// ErrGarbage: the data is not a record in any format.
var ErrGarbage = errors.New("not the record of a lock")

// Decode reads the record of a lock; isOwner recognizes the names of owners. Empty data
// is a free lock. The error is ErrGarbage or, of a newer format, a
// [*versioned.FormatError].
func Decode(data []byte, isOwner func(name string) bool) (Lock, error) {
	var l Lock
	if len(data) == 0 {
		return l, nil
	}
	err := versioned.Check(data, Format)
	var newer *versioned.FormatError
	if errors.As(err, &newer) {
		return Lock{}, err
	}
	if err == nil {
		err = versioned.Unmarshal(data, &l)
	}
	invalid := l.Client != "" && (!znode.IsName(l.Client) || !isOwner(l.Client))
	strange := l.Format == 0 && !l.Empty() // versions that write no format know no other fields
	if err != nil || invalid || strange {
		return Lock{}, ErrGarbage
	}
	return l, nil
}

// IsOwner recognizes the names of owners in a folder that is the default.
func IsOwner(name string) bool {
	_, base, ok := znode.Protection(name)
	return ok && base == OwnerBase
}
