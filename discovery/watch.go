package discovery

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// View makes a view of a service's instances. The view keeps its entries, and
// can be read, while ZooKeeper is unavailable. Use it for frequent reads, or to
// know the age of the entries. The caller runs the view; see package cache. The
// value of an entry is an instance, with Err set if the data of the znode is not
// an instance. o may be nil.
func (r *Registry) View(service string, o *cache.Options) (*cache.Children[Instance], error) {
	r = receiver.OrZero(r)
	err := r.err
	if err == nil && r.client == nil {
		err = holding.NoClient("discovery.NewRegistry", ErrInvalidArgument)
	}
	if err == nil {
		err = validateName("service", service)
	}
	if err != nil {
		return nil, fmt.Errorf("discovery: view %s: %w", r.path(service), err)
	}
	return cache.NewChildren(r.client, r.path(service), func(n session.Node) (Instance, error) {
		return readInstance(service, n, nil), nil
	}, o), nil
}

// Watch iterates over the states of a service: all its instances in the order in which
// they were registered, first the present ones, then each newer state. It may skip
// states that passed while the loop's body ran; it never goes back. While ZooKeeper is
// unreachable, no state comes. A service that does not exist has no instances, and may
// be created later. A child that is not an instance is listed with Err set.
//
// A change costs one read, however many instances there are. The iteration ends with
// ctx or the client, or when the service's znode may not be read, with an error as the
// last element. A znode that becomes unreadable during the iteration is noticed on the
// next connection; see Failures in the package's documentation.
func (r *Registry) Watch(ctx context.Context, service string) iter.Seq2[[]Instance, error] {
	r = receiver.OrZero(r)
	return func(yield func([]Instance, error) bool) {
		err := r.checkCall(ctx)
		var view *cache.Children[Instance]
		if err == nil {
			view, err = r.View(service, &cache.Options{Buffer: 1})
		}
		if err != nil {
			yield(nil, failure(ctx, "watch", r.path(service), err))
			return
		}
		watch(ctx, view, func(s *cache.Snapshot[Instance], err error) bool {
			if err != nil {
				return yield(nil, failure(ctx, "watch", r.path(service), err))
			}
			return yield(instances(service, s), nil)
		})
	}
}

// instances are those of a view, in the order in which they were registered.
func instances(service string, s *cache.Snapshot[Instance]) []Instance {
	out := make([]Instance, 0, s.Len())
	for e := range s.All() {
		i := e.Value
		if e.Err != nil {
			i = readInstance(service, session.Node{Path: e.Path, Stat: e.Stat}, e.Err)
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Instance) int { return inOrder(a.Token, b.Token, a.Path, b.Path) })
	return out
}

// Watch iterates over the states of the group: all its members in the order in
// which they joined; see [Registry.Watch].
func (g *Group) Watch(ctx context.Context) iter.Seq2[[]Member, error] {
	g = receiver.OrZero(g)
	return func(yield func([]Member, error) bool) {
		if err := g.checkCall(ctx); err != nil {
			yield(nil, failure(ctx, "watch", g.path, err))
			return
		}
		node := func(n session.Node) (session.Node, error) { return n, nil }
		view := cache.NewChildren(g.client, g.path, node, &cache.Options{Buffer: 1, Filter: func(path string) bool {
			_, ok := g.opts.Layout.member(znode.Base(path))
			return ok
		}})
		watch(ctx, view, func(s *cache.Snapshot[session.Node], err error) bool {
			if err != nil {
				return yield(nil, failure(ctx, "watch", g.path, err))
			}
			return yield(g.members(s), nil)
		})
	}
}

// members are those of a view, in the order in which they joined.
func (g *Group) members(s *cache.Snapshot[session.Node]) []Member {
	out := make([]Member, 0, s.Len())
	for e := range s.All() {
		n := e.Value
		if e.Err != nil {
			n = session.Node{Path: e.Path, Stat: e.Stat}
		}
		if m, ok := g.read(n, e.Err); ok {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Member) int { return inOrder(a.Token, b.Token, a.Path, b.Path) })
	return out
}

// watch runs a view, and calls yield with each state of it until that says no.
func watch[T any](ctx context.Context, view *cache.Children[T], yield func(*cache.Snapshot[T], error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	// Waited for right below; ends with ctx.
	go func() {
		defer close(over)
		_ = view.Run(ctx) // Events ends with its error
	}()
	defer func() { cancel(); <-over }()
	var last *cache.Snapshot[T]
	for _, err := range view.Events(ctx) {
		if err != nil {
			yield(nil, err)
			return
		}
		now := view.Snapshot()
		if now == last {
			continue // the list had the event's change already
		}
		if last = now; !yield(now, nil) {
			return
		}
	}
}
