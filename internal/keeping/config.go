package keeping

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Config of a [Registrant].
type Config struct {
	Client *session.Client
	// Parent is the mode of missing parents.
	Parent session.Mode
	// ACL of the znodes; nil: the client's.
	ACL []session.ACL
	// Wait: the first registration waits while another client has the name.
	Wait bool
	// Owned are the znodes of the registrants that may have the same names.
	Owned *Ownership
	Words Words
}

// Words are what the package that users import calls things.
type Words struct {
	Package string // in front of errors
	// Conflict: another client has the name.
	Conflict error
	// Unregistered: the owner has ended the registration.
	Unregistered error
}

// New makes a registrant that keeps nothing yet; its first call is Register.
func New(cfg Config) *Registrant { return &Registrant{cfg: cfg} }

// Title is the path that was first asked for, for errors.
func (k *Registrant) Title() string { return k.title }

// Over is closed when nothing is kept any more. It is for callers after Register.
func (k *Registrant) Over() <-chan struct{} { return k.over }

// optionsOf are the options of the creation of e.
func (t *registrar) optionsOf(e *Entry) *session.CreateOptions {
	return &session.CreateOptions{ACL: t.k.cfg.ACL, TTL: e.TTL}
}

// createOptions are the options of the creation of other znodes.
func (t *registrar) createOptions() *session.CreateOptions {
	return &session.CreateOptions{ACL: t.k.cfg.ACL}
}

// failure names operation and path.
func (k *Registrant) failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, k.cfg.Words.Package, op, path, err)
}
