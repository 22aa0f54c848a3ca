package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/keeping"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Registry registers, lists and follows instances of services.
type Registry struct {
	client *session.Client
	base   string
	opts   Options
	owned  *keeping.Ownership
	err    error // of invalid arguments
}

// NewRegistry makes a registry whose services are the children of base, Curator's
// base path. NewRegistry sends nothing; the first call of a method reports an
// invalid argument. o may be nil.
func NewRegistry(client *session.Client, base string, o *Options) *Registry {
	r := &Registry{client: client, base: base, owned: keeping.NewOwnership()}
	r.opts, r.err = checkOptions(client, base, o)
	return r
}

// Register registers an instance, and keeps it registered: in the next session
// after each loss, with the data of the last Update, and also after its znode was
// deleted. A goroutine does this until [Registration.Unregister], or until the
// client is closed.
//
// Register returns when the instance is registered. If another instance has the
// name, the error wraps ErrConflict, or Register waits ([Options.Wait]). Register
// also waits for remains of an earlier session of this registry, and for the
// removal of an instance that this registry has unregistered. An existing Static
// or Permanent instance that differs at most in its time is taken over. If ctx
// ends first, nothing is left behind.
func (r *Registry) Register(ctx context.Context, i Instance) (*Registration, error) {
	r = receiver.OrZero(r)
	e, err := r.newEntry(ctx, i)
	if err != nil {
		return nil, failure(ctx, "register", r.path(i.Service, i.ID), err)
	}
	g := &Registration{registry: r, registrant: keeping.New(r.opts.config(r.client, session.Container, r.owned))}
	if err := g.registrant.Register(ctx, observe.Registration, "register", e); err != nil {
		return nil, err
	}
	return g, nil
}

// newEntry checks ctx and the arguments, and makes an entry of the instance.
func (r *Registry) newEntry(ctx context.Context, i Instance) (*keeping.Entry, error) {
	if err := r.checkCall(ctx); err != nil {
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
	return r.makeEntry(i)
}

// makeEntry makes the entry to register for an instance.
func (r *Registry) makeEntry(i Instance) (*keeping.Entry, error) {
	i.RegistrationTime = time.UnixMilli(i.RegistrationTime.UnixMilli())
	data, err := i.encode()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	e := &keeping.Entry{Dir: znode.Join(r.base, i.Service), Name: i.ID, Data: data, Mode: i.Type.mode(), Subject: i}
	if !e.Ephemeral() {
		e.Adopt = i.saysTheSame
	}
	return e, nil
}

func (r *Registry) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, r.client, "discovery.NewRegistry", r.err, ErrInvalidArgument)
}

// path is for people: names need not be valid.
func (r *Registry) path(names ...string) string {
	path := r.base
	for _, n := range names {
		path = znode.Join(path, n)
	}
	return path
}

// Services lists the names of all services, sorted. A service whose last instance
// has gone may stay in the list for a while. The list can lag behind like the result
// of [Registry.Instances].
func (r *Registry) Services(ctx context.Context) ([]string, error) {
	r = receiver.OrZero(r)
	if err := r.checkCall(ctx); err != nil {
		return nil, failure(ctx, "services of", r.base, err)
	}
	var names []string
	err := r.client.Retry(ctx, func(s *session.Session) (err error) {
		names, err = listNames(ctx, s, r.base, nil)
		return err
	})
	if err != nil {
		return nil, failure(ctx, "services of", r.base, err)
	}
	slices.Sort(names)
	return names, nil
}

// ServiceCount is the number of instances of a service.
type ServiceCount struct {
	Service   string
	Instances int
}

// ServiceCounts lists all services, sorted by name, with the number of their instances, which
// are not read: an instance that Instances lists with Err set is counted, too. Each count takes
// a request, and several are in flight. The list can lag behind like the result of
// [Registry.Instances].
func (r *Registry) ServiceCounts(ctx context.Context) ([]ServiceCount, error) {
	r = receiver.OrZero(r)
	names, err := r.Services(ctx)
	if err != nil {
		return nil, err
	}
	var out []ServiceCount
	err = r.client.Retry(ctx, func(s *session.Session) error {
		out = out[:0]
		reading := &optimistic.Reading{Ctx: ctx, Session: s}
		for part := range slices.Chunk(names, window) {
			paths := make([]string, len(part))
			for i, name := range part {
				paths[i] = r.path(name)
			}
			for i, seen := range reading.StatAll(paths...) {
				if seen.Exists {
					out = append(out, ServiceCount{part[i], int(seen.Stat.NumChildren)})
				}
			}
		}
		return reading.Err
	})
	if err != nil {
		return nil, failure(ctx, "services of", r.base, err)
	}
	return out, nil
}

// Instances lists the instances of a service in the order of their registration.
// The names are as of one moment, which precedes the call if the server lags behind,
// and the data of each instance was read at about that moment; both may have changed
// since. An instance that stays registered is in the list, also while a
// DynamicSequential instance gets another znode.
// A majority of the servers has confirmed an empty list. A znode with other
// content, or without the right to read it, is listed with Err set. A service
// that does not exist has no instances.
func (r *Registry) Instances(ctx context.Context, service string) ([]Instance, error) {
	r = receiver.OrZero(r)
	err := r.checkCall(ctx)
	if err == nil {
		err = validateName("service", service)
	}
	var nodes []child
	if err == nil {
		nodes, err = listChildren(ctx, r.client, r.path(service), nil)
	}
	if err != nil {
		return nil, failure(ctx, "instances of", r.path(service), err)
	}
	out := make([]Instance, len(nodes))
	for n, node := range nodes {
		out[n] = readInstance(service, node.Node, node.err)
	}
	return out, nil
}

// Instance reads one instance, by the name of its znode, which is its id unless
// the instance is DynamicSequential. If no such znode exists, as a majority of the
// servers has confirmed, the error wraps session.ErrNoNode; if the znode has other
// content, Err is set.
func (r *Registry) Instance(ctx context.Context, service, id string) (Instance, error) {
	r = receiver.OrZero(r)
	path := r.path(service, id)
	err := r.checkCall(ctx)
	if err == nil {
		err = errors.Join(validateName("service", service), validateName("id", id))
	}
	node := session.Node{Path: path}
	if err == nil {
		err = r.client.Retry(ctx, func(s *session.Session) (err error) {
			read := func() (err error) {
				node.Data, node.Stat, err = s.Get(ctx, path)
				return err
			}
			if err = read(); !errors.Is(err, session.ErrNoNode) {
				return err
			}
			return s.ReadFresh(ctx, path, read) // the server may lag behind
		})
	}
	if err != nil {
		return Instance{}, failure(ctx, "instance", path, err)
	}
	return readInstance(service, node, nil), nil
}
