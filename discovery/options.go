package discovery

import (
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/session"
)

// Options of a [Registry] or a [Group]; nil and the zero value mean all
// defaults.
type Options struct {
	// Wait makes Register and Join wait, within their context, while another
	// client has the name, instead of returning ErrConflict. Use Wait for
	// processes that come back under their old name before the servers have
	// expired the session of their former process. Default: false.
	Wait bool
	// Layout of a Group; default: Curator. A Registry ignores it.
	Layout Layout
	// ACL of the znodes; default: the client's.
	ACL []session.ACL
}

// withDefaults checks o.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ACL = slices.Clone(out.ACL) // the caller may change it
	if out.Layout < Curator || out.Layout > KazooShallow {
		return out, fmt.Errorf("%w: Layout is %d; it must be Curator, Kazoo or KazooShallow", ErrInvalidArgument, out.Layout)
	}
	return out, nil
}

// config is the configuration of a registration or a membership.
func (o Options) config(client *session.Client, parent session.Mode, owned *keeping.Ownership) keeping.Config {
	return keeping.Config{
		Client: client, Parent: parent, ACL: o.ACL, Wait: o.Wait, Owned: owned,
		Words: keeping.Words{Package: "discovery", Conflict: ErrConflict, Unregistered: ErrUnregistered},
	}
}

// checkOptions is the check that the constructors share.
func checkOptions(client *session.Client, path string, o *Options) (Options, error) {
	opts, err := o.withDefaults()
	if err == nil {
		err = session.ValidatePath(path)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrInvalidArgument, err)
		}
	}
	if err == nil && client == nil {
		err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return opts, err
}
