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
	"github.com/zkrecipes/zkrecipes/internal/holding"
)

// Provider picks instances of one service.
type Provider struct {
	service string
	opts    Options
	view    *cache.Children[discovery.Instance]
	err     error // of invalid arguments

	// mu guards the fields below: one goroutine at a time takes a new list over and
	// picks. Filter and Pick, user code, are called under mu on purpose; so they must
	// not call Get or All. Invariant: usable are the instances of snapshot that may
	// be used, in the order of registration.
	mu       sync.Mutex
	picker   Picker
	snapshot *cache.Snapshot[discovery.Instance]
	usable   []member

	uses uses
}

// member is an instance of the list, with its usage.
type member struct {
	instance *discovery.Instance
	usage    *usage
}

// key identifies one registration of an instance: an instance that comes back under
// the same name is another registration.
type key struct {
	token int64
	path  string
}

func keyOf(i *discovery.Instance) key { return key{i.Token, i.Path} }

// compare is the order of candidates.
func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.token, o.token), cmp.Compare(k.path, o.path))
}

// New makes a provider of the instances of a service. New sends nothing; the
// first method call that returns an error reports an invalid argument. o may be
// nil.
func New(registry *discovery.Registry, service string, picker Picker, o *Options) *Provider {
	p := &Provider{service: service, picker: picker, uses: uses{known: map[key]*usage{}}}
	p.opts, p.err = o.withDefaults()
	switch {
	case p.err != nil:
	case registry == nil:
		p.err = fmt.Errorf("%w: the registry is nil", ErrInvalidArgument)
	case pickerError(picker) != nil:
		p.err = fmt.Errorf("%w: %w", ErrInvalidArgument, pickerError(picker))
	default:
		p.view, p.err = registry.View(service, nil)
		if p.err != nil {
			p.err = fmt.Errorf("%w: %w", ErrInvalidArgument, p.err)
		}
	}
	return p
}

// Run keeps the list up to date until ctx ends, or the list cannot be kept up to date any
// more; see cache.View.Run. Run returns nil when ctx has ended, since a provider holds
// nothing. A ctx that had ended before the call is an error that wraps the context's
// error. The caller owns the goroutine. After Run the list stays as it is, and another
// Run goes on with it.
func (p *Provider) Run(ctx context.Context) error {
	if err := p.checkCall(ctx); err != nil {
		return p.failure(ctx, "run", err)
	}
	if err := p.view.Run(ctx); err != nil && ctx.Err() == nil {
		return p.failure(ctx, "run", err)
	}
	return nil
}

// checkCall is the first check of every method.
func (p *Provider) checkCall(ctx context.Context) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return p.checkMade()
}

// checkMade returns New's error about its arguments, and an error for a provider that New
// has not made.
func (p *Provider) checkMade() error {
	switch {
	case p == nil:
		return fmt.Errorf("%w: the Provider is nil: make it with provider.New", ErrInvalidArgument)
	case p.err == nil && p.view == nil:
		return fmt.Errorf("%w: a zero Provider has no registry: make it with provider.New", ErrInvalidArgument)
	}
	return p.err
}

// failure names the operation and the service.
func (p *Provider) failure(ctx context.Context, op string, err error) error {
	service := ""
	if p != nil {
		service = p.service
	}
	return holding.Failure(ctx, "provider", op, service, err)
}

// Status reports the age of the list, and whether the list is kept up to date.
func (p *Provider) Status() cache.Status {
	if err := p.checkMade(); err != nil {
		return cache.Status{Stale: math.MaxInt64, Err: err}
	}
	return p.view.Status()
}

// Get picks an instance, for use until the lease's Done. Get waits, within ctx,
// only until the list has been loaded for the first time. If no instance can be
// picked, the error wraps ErrNoInstance.
func (p *Provider) Get(ctx context.Context) (*Lease, error) {
	if err := p.loaded(ctx); err != nil {
		return nil, p.failure(ctx, "get", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refreshLocked()
	candidates, usages := p.uses.candidates(p.usable, time.Now())
	if len(candidates) == 0 {
		return nil, p.failure(ctx, "get", ErrNoInstance)
	}
	n := p.picker.Pick(candidates)
	if n < 0 || n >= len(candidates) {
		return nil, p.failure(ctx, "get", fmt.Errorf("%w: the picker chose %d of %d", ErrNoInstance, n, len(candidates)))
	}
	p.uses.addLease(usages[n])
	return &Lease{provider: p, instance: candidates[n].Instance, usage: usages[n]}, nil
}

// All returns the usable instances in the order of registration, including
// instances that are set aside. All waits like Get.
func (p *Provider) All(ctx context.Context) ([]discovery.Instance, error) {
	if err := p.loaded(ctx); err != nil {
		return nil, p.failure(ctx, "all", err)
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
	if err := p.checkCall(ctx); err != nil {
		return err
	}
	if st := p.view.Status(); st.Loaded {
		return st.Err
	}
	// Do not wait until the view is synced: it may not be synced any more when we
	// look.
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
	p.usable, p.snapshot = p.uses.membersOf(list), snapshot
}
