package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// Admin looks at a group and changes what it shares out. It is no member.
type Admin struct {
	client *session.Client
	at     layout
	opts   Options
	err    error // what is wrong with the arguments
}

// Open makes an Admin for the group on path. It does nothing yet; a wrong argument is
// reported by the first call of a method. o may be nil.
func Open(client *session.Client, path string, o *Options) *Admin {
	a := &Admin{client: client, at: layout(path)}
	a.opts, a.err = o.withDefaults()
	if a.err == nil && client == nil {
		a.err = fmt.Errorf("%w: the client is nil", ErrArgument)
	}
	if a.err == nil {
		a.err = validPath(path)
	}
	return a
}

// Create makes the group, in the mode of Options, without any member or resource. If
// there is one already nothing is changed; if that has another mode the error wraps
// ErrMode. Members do the same when they join.
func (a *Admin) Create(ctx context.Context) error {
	return a.with(ctx, "create", func(p *seat) error {
		return ensure(ctx, p.s, p.at, a.opts.Mode, p.acl)
	})
}

// AddResources adds resources, and returns those that were not there before. It takes
// a request per 500. The error wraps ErrNoGroup if there is no group. When it fails
// otherwise, some may have been added: call it again. If the client's session is lost
// meanwhile, what was sent in it may still be carried out until its timeout is over.
func (a *Admin) AddResources(ctx context.Context, names ...string) (added []string, err error) {
	return a.change(ctx, "add resources to", &change{names: names, to: true, done: session.ErrNodeExists, op: func(p *seat, path string) session.Op {
		return session.CreateOp(path, nil, session.Persistent, p.created())
	}})
}

// RemoveResources removes resources, and returns those that were there before. Their
// owners are told to give them up; until they have, nobody else owns them, also if
// they are added again. Requests and errors are those of AddResources.
func (a *Admin) RemoveResources(ctx context.Context, names ...string) (removed []string, err error) {
	return a.change(ctx, "remove resources from", &change{names: names, to: false, done: session.ErrNoNode, op: func(_ *seat, path string) session.Op {
		return session.DeleteOp(path, -1)
	}})
}

// change adds or removes resources.
type change struct {
	names []string
	to    bool // whether they are there afterwards
	op    func(p *seat, path string) session.Op
	done  error // the server's verdict on an operation that somebody has done before
	// tried is what was sent without an answer: when it turns out to be so, it
	// counts as done here. changed is what was done.
	tried   map[string]bool
	changed []string
}

func (a *Admin) change(ctx context.Context, op string, ch *change) ([]string, error) {
	for _, name := range ch.names {
		if err := validName("resource", name); err != nil {
			return nil, failure(ctx, op, string(a.at), err)
		}
	}
	ch.tried = map[string]bool{}
	err := a.with(ctx, op, func(p *seat) error {
		all, err := p.resources(ctx)
		if err != nil {
			return err
		}
		is := make(map[string]bool, len(all))
		for _, name := range all {
			is[name] = true
		}
		var due []string
		again := map[string]bool{} // named twice, it is done once, and counts once
		for _, name := range ch.names {
			switch {
			case again[name]:
			case is[name] != ch.to:
				due = append(due, name)
			default:
				ch.found(name)
			}
			again[name] = true
		}
		for part := range batches(due, maxOps, maxTxn, func(n string) int { return len(n) + perOp }) {
			if err := ch.apply(ctx, p, part); err != nil {
				return err
			}
		}
		return nil
	})
	return ch.changed, err
}

// found notes that a resource is as it shall be, though nothing is done about it now.
func (ch *change) found(name string) {
	if ch.tried[name] {
		delete(ch.tried, name)
		ch.changed = append(ch.changed, name)
	}
}

// apply changes a few resources in one transaction, less those that somebody else has
// changed in that moment: of these there may be many, if two add the same.
func (ch *change) apply(ctx context.Context, p *seat, part []string) error {
	for len(part) > 0 {
		ops := make([]session.Op, len(part))
		for i, name := range part {
			ops[i] = ch.op(p, p.at.resource(name))
		}
		_, err := p.s.Txn(ctx, ops...)
		at := culprit(err)
		switch {
		case err == nil:
			for _, name := range part {
				delete(ch.tried, name) // or it would count twice, if a later part is repeated
			}
			ch.changed = append(ch.changed, part...)
			return nil
		case at >= 0 && errors.Is(err, ch.done):
			if part, err = ch.due(ctx, p, part); err == nil {
				continue
			}
		case errors.Is(err, session.ErrUnknownOutcome):
			for _, name := range part {
				ch.tried[name] = true
			}
		}
		return err
	}
	return nil
}

// due are those of part that are not yet as they shall be.
func (ch *change) due(ctx context.Context, p *seat, part []string) ([]string, error) {
	futures := make([]*session.Future[session.Seen], len(part))
	for i, name := range part {
		futures[i] = p.s.StartExists(p.at.resource(name), false)
	}
	var due, found []string
	err := answers(ctx, futures, func(i int, seen session.Seen, _ bool) {
		if seen.Exists == ch.to {
			found = append(found, part[i])
		} else {
			due = append(due, part[i])
		}
	})
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		ch.found(name)
	}
	return due, nil
}

// Resources lists the resources, in order. The error wraps ErrNoGroup if there is no
// group.
func (a *Admin) Resources(ctx context.Context) (names []string, err error) {
	err = a.with(ctx, "list resources of", func(p *seat) error {
		names, err = p.resources(ctx)
		slices.Sort(names)
		return err
	})
	return names, err
}

func (p *seat) resources(ctx context.Context) ([]string, error) {
	if err := p.s.Sync(ctx, string(p.at)); err != nil {
		return nil, err
	}
	names, _, err := p.s.Children(ctx, p.at.in(resourcesDir))
	if errors.Is(err, session.ErrNoNode) {
		return nil, ErrNoGroup
	}
	return names, err
}

// Pause makes the coordinator begin nothing new: members that come get nothing, and
// what those had who go stays without an owner, until Resume. What is under way is
// finished.
func (a *Admin) Pause(ctx context.Context) error {
	return a.configure(ctx, "pause", configRecord{Paused: true, By: a.opts.ID, Since: time.Now().UTC()})
}

// Resume ends a pause.
func (a *Admin) Resume(ctx context.Context) error {
	return a.configure(ctx, "resume", configRecord{})
}

// configure writes the configuration, once. It does so on condition of the one that it
// has read: what was sent in a session that was lost, and comes late, changes nothing.
// If a write was not answered, and the configuration is another one now, it was
// written, or whoever has written this has done so after it: to write it again would
// undo a Resume that somebody has answered a Pause with.
func (a *Admin) configure(ctx context.Context, op string, record configRecord) error {
	const none int32 = -1
	unanswered := none // the version on whose condition a write was sent
	return a.with(ctx, op, func(p *seat) error {
		for {
			_, stat, err := p.s.Get(ctx, p.at.in(configNode))
			if err == nil && unanswered != none && unanswered != stat.Version {
				return nil
			}
			if err == nil {
				_, err = p.s.Set(ctx, p.at.in(configNode), encode(record), stat.Version)
			}
			switch {
			case errors.Is(err, session.ErrNoNode):
				return ErrNoGroup
			case errors.Is(err, session.ErrUnknownOutcome):
				unanswered = stat.Version
			case errors.Is(err, session.ErrBadVersion):
				continue
			}
			return err
		}
	})
}

// with calls f in the client's session, in the next one if that is lost. f can be
// repeated.
func (a *Admin) with(ctx context.Context, op string, f func(p *seat) error) error {
	err := a.err
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = a.client.Retry(ctx, func(s *session.Session) error {
			return f(&seat{s: s, at: a.at, acl: a.opts.ACL})
		})
	}
	if err != nil {
		return failure(ctx, op, string(a.at), err)
	}
	return nil
}

// sorted are the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
