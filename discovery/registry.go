package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Registry is where the instances of services are registered.
type Registry struct {
	client *session.Client
	base   string
	opts   Options
	claims *claims
	err    error // what is wrong with the arguments
}

// NewRegistry makes a registry whose services are the children of base, Curator's
// base path. It does nothing yet; a wrong argument is reported by the first call
// of a method. o may be nil.
func NewRegistry(client *session.Client, base string, o *Options) *Registry {
	r := &Registry{client: client, base: base, claims: newClaims()}
	r.opts, r.err = checked(client, base, o)
	return r
}

// Register registers an instance, and keeps it registered: in each session that
// follows on a lost one, with the data of the last Update, and also when somebody
// deletes its znode. That is done by a goroutine, which [Registration.Unregister]
// ends, and the closing of the client.
//
// It returns when the instance is registered. If somebody else has its name, the
// error wraps ErrConflict, unless [Options.Wait] says to wait; what an earlier
// session of this registry has left is waited for. A Static or Permanent instance
// that is there already, and differs in its time at most, is taken over. When ctx
// ends first nothing is left behind.
func (r *Registry) Register(ctx context.Context, i Instance) (*Registration, error) {
	e, err := r.begin(ctx, i)
	if err != nil {
		return nil, failure(ctx, "register", r.path(i.Service, i.ID), err)
	}
	g := &Registration{registry: r, keeper: &keeper{
		client: r.client, opts: r.opts, parent: session.Container, claims: r.claims,
	}}
	if err := g.keeper.keep(ctx, e); err != nil {
		return nil, failure(ctx, "register", e.path(), err)
	}
	return g, nil
}

// begin checks ctx and the arguments, and makes an entry of the instance.
func (r *Registry) begin(ctx context.Context, i Instance) (*entry, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	if err := i.check(); err != nil {
		return nil, err
	}
	if i.RegistrationTime.IsZero() {
		i.RegistrationTime = time.Now()
	}
	i.Payload = slices.Clone(i.Payload)
	i.Path, i.Token, i.Err = "", 0, nil
	return r.entry(i)
}

// entry is what is registered for an instance.
func (r *Registry) entry(i Instance) (*entry, error) {
	i.RegistrationTime = time.UnixMilli(i.RegistrationTime.UnixMilli())
	data, err := i.encode()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	e := &entry{dir: znode.Join(r.base, i.Service), name: i.ID, data: data, mode: i.Type.mode(), instance: i}
	if !e.ephemeral() {
		e.adopt = i.saysTheSame
	}
	return e, nil
}

func (r *Registry) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.err
}

// path is for people: names need not be valid.
func (r *Registry) path(names ...string) string {
	path := r.base
	for _, n := range names {
		path = znode.Join(path, n)
	}
	return path
}

// Services lists the names of all services, sorted. A service whose last
// instance has gone may be among them for a while.
func (r *Registry) Services(ctx context.Context) ([]string, error) {
	if err := r.ready(ctx); err != nil {
		return nil, failure(ctx, "services of", r.base, err)
	}
	s, err := r.client.Session(ctx)
	var names []string
	if err == nil {
		names, _, err = s.Children(ctx, r.base)
	}
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return nil, failure(ctx, "services of", r.base, err)
	}
	slices.Sort(names)
	return names, nil
}

// Instances lists the instances of a service, in the order in which they were
// registered: those whose names were there at one moment, which is over, and what
// each said when it was read, a little later. A znode that says something else, or
// may not be read, is listed too, with Err set. A service that does not exist has
// none.
func (r *Registry) Instances(ctx context.Context, service string) ([]Instance, error) {
	err := r.ready(ctx)
	if err == nil {
		err = validName("service", service)
	}
	var nodes []child
	if err == nil {
		nodes, err = children(ctx, r.client, r.path(service), nil)
	}
	if err != nil {
		return nil, failure(ctx, "instances of", r.path(service), err)
	}
	out := make([]Instance, len(nodes))
	for n, node := range nodes {
		out[n] = read(service, node.Node, node.err)
	}
	return out, nil
}

// Instance reads one instance, by the name of its znode, which is its id unless
// it is DynamicSequential. If there is none the error wraps session.ErrNoNode; if
// the znode says something else, Err is set.
func (r *Registry) Instance(ctx context.Context, service, id string) (Instance, error) {
	path := r.path(service, id)
	err := r.ready(ctx)
	if err == nil {
		err = errors.Join(validName("service", service), validName("id", id))
	}
	var s *session.Session
	if err == nil {
		s, err = r.client.Session(ctx)
	}
	node := session.Node{Path: path}
	if err == nil {
		node.Data, node.Stat, err = s.Get(ctx, path)
	}
	if err != nil {
		return Instance{}, failure(ctx, "instance", path, err)
	}
	return read(service, node, nil), nil
}
