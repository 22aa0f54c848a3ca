package locktable

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Table]; nil and the zero value mean all defaults. All clients of a
// table must agree about Owners and OwnerName.
type Options struct {
	// ID describes an owner to other clients; ID is the data of the znode
	// created by [Table.Join]. Default: host name, colon, process id.
	ID string
	// Owners is the path of the folder with the znodes of the owners. Default:
	// the table's path with the suffix ".owners". Set Owners for
	// [Table.OwnedBy], to the folder of another recipe's znodes, such as the
	// candidates of an election.
	Owners string
	// OwnerName reports whether an owner can have this name. A lock whose record
	// names an impossible owner counts as held, until a person repairs the
	// record. OwnerName must accept the names of all lock holders in Owners, and
	// no name may be used twice: a removed name never comes back. Default: the
	// names created by Join.
	OwnerName func(name string) bool
	// Unwatched saves the watch on each held lock, and the read for the watch.
	// The context of a [Held] then ends only with its owner. If another client
	// deletes or changes the znode of a held lock, only its guard and its
	// release report the loss.
	Unwatched bool
	// ACL of the znodes; default: the client's. All clients of the table must be
	// allowed to read the znodes.
	ACL []session.ACL
}

// withDefaults checks o and fills in defaults.
func (o *Options) withDefaults(path string) (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change its slice
	if out.ID == "" {
		out.ID = holding.DefaultID()
	}
	if out.Owners == "" {
		out.Owners = path + tableformat.OwnersSuffix
	}
	if out.OwnerName == nil {
		out.OwnerName = tableformat.IsOwner
	}
	if err := session.ValidatePath(out.Owners); err != nil {
		return out, fmt.Errorf("%w: Owners: %w", ErrInvalidArgument, err)
	}
	if out.Owners == path {
		return out, fmt.Errorf("%w: Owners is the table's path %s; it must be another folder", ErrInvalidArgument, path)
	}
	return out, nil
}

// checkNames checks the names of locks.
func checkNames(names []string) error {
	for _, name := range names {
		if !znode.IsName(name) {
			return fmt.Errorf("%w: %.60q cannot be the name of a lock: use a name that can be the last element of a path", ErrInvalidArgument, name)
		}
	}
	return nil
}

// checkSet checks the names of locks, which must be unique.
func checkSet(names []string) error {
	if err := checkNames(names); err != nil {
		return err
	}
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("%w: the name %.60q is given twice", ErrInvalidArgument, name)
		}
		seen[name] = true
	}
	return nil
}
