package provider

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// Provider picks instances of one service.
type Provider struct {
	service string
	opts    Options
	view    *cache.Children[discovery.Instance]
	err     error // what is wrong with the arguments

	// mu guards what follows: one at a time takes a new list over and picks.
	// Filter and Pick, user code, are called under it, which is what it is
	// for; so they must not call Get or All. Invariant: usable is what of
	// snapshot may be used, in the order of registration.
	mu       sync.Mutex
	picker   Picker
	snapshot *cache.Snapshot[discovery.Instance]
	usable   []member

	uses uses
}

// member is an instance of the list, and what is known of its use.
type member struct {
	instance *discovery.Instance
	usage    *usage
}

// key is one registration of an instance: what comes back under the same name is
// another one.
type key struct {
	token int64
	path  string
}

func keyOf(i *discovery.Instance) key { return key{i.Token, i.Path} }

// compare is the order of candidates.
func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.token, o.token), cmp.Compare(k.path, o.path))
}

// New makes a provider of the instances of a service. It does nothing yet; a wrong
// argument is reported by the first call of a method that returns an error. o may
// be nil.
func New(registry *discovery.Registry, service string, picker Picker, o *Options) *Provider {
	p := &Provider{service: service, picker: picker, uses: uses{known: map[key]*usage{}}}
	p.opts, p.err = o.withDefaults()
	switch {
	case p.err != nil:
	case registry == nil:
		p.err = fmt.Errorf("%w: the registry is nil", ErrArgument)
	case picker == nil:
		p.err = fmt.Errorf("%w: the picker is nil", ErrArgument)
	default:
		p.view, p.err = registry.View(service, nil)
		if p.err != nil {
			p.err = fmt.Errorf("%w: %w", ErrArgument, p.err)
		}
	}
	return p
}

// Run keeps the list up to date until ctx ends or that cannot go on, as that of a
// cache's view, whose goroutine the caller owns as well. After the end of ctx the
// list stays as it is, and another Run goes on with it.
func (p *Provider) Run(ctx context.Context) error {
	if p.err != nil {
		return failure(ctx, "run", p.service, p.err)
	}
	if err := p.view.Run(ctx); err != nil {
		return failure(ctx, "run", p.service, err)
	}
	return nil
}

// Status says how old the list is, and whether it is kept up to date.
func (p *Provider) Status() cache.Status {
	if p.err != nil {
		return cache.Status{Stale: math.MaxInt64, Err: p.err}
	}
	return p.view.Status()
}

// Get picks an instance to use, until the lease's Done. It waits, within ctx, only
// until the list has been loaded for the first time. If there is nothing to pick
// the error wraps ErrNoInstance.
func (p *Provider) Get(ctx context.Context) (*Lease, error) {
	if err := p.loaded(ctx); err != nil {
		return nil, failure(ctx, "get", p.service, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshLocked()
	candidates, usages := p.uses.candidates(p.usable, time.Now())
	if len(candidates) == 0 {
		return nil, failure(ctx, "get", p.service, ErrNoInstance)
	}
	n := p.picker.Pick(candidates)
	if n < 0 || n >= len(candidates) {
		return nil, failure(ctx, "get", p.service, fmt.Errorf("%w: the picker chose %d of %d", ErrNoInstance, n, len(candidates)))
	}
	p.uses.begin(usages[n])
	return &Lease{provider: p, instance: candidates[n].Instance, usage: usages[n]}, nil
}

// All are the instances that may be used, whether they are set aside or not, in
// the order in which they were registered. It waits like Get.
func (p *Provider) All(ctx context.Context) ([]discovery.Instance, error) {
	if err := p.loaded(ctx); err != nil {
		return nil, failure(ctx, "all", p.service, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshLocked()
	out := make([]discovery.Instance, len(p.usable))
	for n, m := range p.usable {
		out[n] = *m.instance
	}
	return out, nil
}

// loaded waits until there is a list.
func (p *Provider) loaded(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case p.err != nil:
		return p.err
	}
	if st := p.view.Status(); st.Loaded {
		return st.Err
	}
	// Not for its being synced, which it may be no more by the time we look.
	var err error
	for _, err = range p.view.Events(ctx) {
		break // the first is there once the list is
	}
	return err
}

// refreshLocked takes the list over from the view, if that has another.
func (p *Provider) refreshLocked() {
	snapshot := p.view.Snapshot()
	if snapshot == p.snapshot {
		return
	}
	list := make([]*discovery.Instance, 0, snapshot.Len())
	for e := range snapshot.All() {
		i := e.Value
		if e.Err == nil && i.Err == nil && !i.Disabled && (p.opts.Filter == nil || p.opts.Filter(i)) {
			list = append(list, &i)
		}
	}
	slices.SortFunc(list, func(a, b *discovery.Instance) int { return keyOf(a).compare(keyOf(b)) })
	p.usable, p.snapshot = p.uses.of(list), snapshot
}
