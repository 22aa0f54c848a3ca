package barrier

import (
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Barrier], a [Double] or a [Gate]; nil and the zero value mean
// all defaults.
type Options struct {
	// ID is the identity of the party, at most 128 bytes without a slash. For
	// each ID, only the newest znode counts: a party restarted under its ID is
	// not counted twice before the servers have noticed the death of its former
	// process. No two parties may have the same ID at a time. Default: unique to
	// each call, so each call is a separate party. A Gate ignores it.
	ID string
	// Data is shown to other clients, as the data of the party's znode or of the
	// gate. Default: host name, colon, process id.
	Data []byte
	// ACL of the znodes; default: the client's. All parties must be allowed to
	// read the znodes, to set the path's data, and to create and delete its
	// children. Parties of a Barrier must also be allowed to create a znode
	// beside the path, and to set its data.
	ACL []session.ACL
	// InTree is for a path in a tree deleted as a whole by other clients: a call
	// does not create missing znodes above the path, and fails with
	// session.ErrNoNode instead. Default: missing znodes are created. A Gate
	// ignores it.
	InTree bool
}

// withDefaults checks o and fills in defaults, except for the ID.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Data == nil {
		out.Data = []byte(holding.DefaultID())
	}
	out.Data, out.ACL = slices.Clone(out.Data), slices.Clone(out.ACL) // the caller may change them
	return out, validateID(out.ID)
}

// validatePlace checks client and path.
func validatePlace(client *session.Client, path string) error {
	switch {
	case client == nil:
		return fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	case path == "/":
		return fmt.Errorf("%w: the path is the root; a barrier must be below it", ErrInvalidArgument)
	}
	if err := session.ValidatePath(path); err != nil {
		return fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
	}
	return nil
}

// identities are the IDs of calls without an ID in their Options.
type identities struct {
	// mu guards spare: IDs of ended calls whose znode may still exist. The next
	// calls use these IDs first. A party that gave up and arrives again is then
	// the same party, and not counted in addition to its own remains.
	mu    sync.Mutex
	spare []string
}

func (i *identities) reserve() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.spare) == 0 {
		return session.NewID()
	}
	id := i.spare[len(i.spare)-1]
	i.spare = i.spare[:len(i.spare)-1]
	return id
}

func (i *identities) free(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.spare, id) {
		i.spare = append(i.spare, id)
	}
}
