package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Admin inspects a group and changes its resources. An Admin is not a member.
type Admin struct {
	client *session.Client
	at     layout
	opts   Options
	err    error // of invalid arguments
}

// Open makes an Admin for the group on path. Open sends nothing; the first call
// of a method reports an invalid argument. o may be nil.
func Open(client *session.Client, path string, o *Options) *Admin {
	a := &Admin{client: client, at: layout(path)}
	a.opts, a.err = o.withDefaults()
	if a.err == nil && client == nil {
		a.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	if a.err == nil {
		a.err = validPath(path)
	}
	return a
}

// Create makes the group, in the mode of Options, without members and resources.
// If the group exists, nothing is changed; if it has another mode, the error
// wraps ErrMode. A member that joins also creates a missing group.
func (a *Admin) Create(ctx context.Context) error {
	return a.withGroup(ctx, "create", func(p *memberNode) error {
		return ensureGroup(ctx, p.s, p.at, a.opts.Mode, p.acl)
	})
}

// AddResources adds resources, and returns the resources that did not exist
// before. It takes a request per 500 resources. The error wraps ErrNoGroup if the
// group does not exist. After another error some resources may have been added:
// call AddResources again. If the client's session is lost meanwhile, requests of
// that session may still be carried out until the session's timeout is over.
func (a *Admin) AddResources(ctx context.Context, names ...string) (added []string, err error) {
	return a.changeResources(ctx, "add resources to", &change{names: names, to: true, done: session.ErrNodeExists, op: func(p *memberNode, path string) session.Op {
		return session.CreateOp(path, nil, session.Persistent, p.createOptions())
	}})
}

// RemoveResources removes resources, and returns the resources that existed
// before. Their owners are told to give them up; until they have, no other member
// owns the resources, even if they are added again. Requests and errors are those
// of AddResources.
func (a *Admin) RemoveResources(ctx context.Context, names ...string) (removed []string, err error) {
	return a.changeResources(ctx, "remove resources from", &change{names: names, to: false, done: session.ErrNoNode, op: func(_ *memberNode, path string) session.Op {
		return session.DeleteOp(path, -1)
	}})
}

// change adds or removes resources.
type change struct {
	names []string
	to    bool // whether they exist afterwards
	op    func(p *memberNode, path string) session.Op
	done  error // the server's error for an operation that was done before
	// tried has the operations sent without an answer: the error done then
	// means that this call did them. changed has the operations that were done.
	tried   map[string]bool
	changed []string
}

func (a *Admin) changeResources(ctx context.Context, op string, ch *change) ([]string, error) {
	for _, name := range ch.names {
		if err := validName("resource", name); err != nil {
			return nil, failure(ctx, op, string(a.orZero().at), err)
		}
	}
	ch.tried = map[string]bool{}
	err := a.withGroup(ctx, op, func(p *memberNode) error {
		all, err := p.listResources(ctx)
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
				ch.noteUnchanged(name)
			}
			again[name] = true
		}
		for part := range batches.Of(due, batches.MaxOps, batches.MaxTxn, func(n string) int { return len(n) + batches.PerOp }) {
			if err := ch.applyPart(ctx, p, part); err != nil {
				return err
			}
		}
		return nil
	})
	return ch.changed, err
}

// noteUnchanged notes that a resource is as it shall be, though nothing is done about it now.
func (ch *change) noteUnchanged(name string) {
	if ch.tried[name] {
		delete(ch.tried, name)
		ch.changed = append(ch.changed, name)
	}
}

// applyPart changes a few resources in one transaction, less the resources, possibly
// many, that another client changes at the same moment.
func (ch *change) applyPart(ctx context.Context, p *memberNode, part []string) error {
	for len(part) > 0 {
		ops := make([]session.Op, len(part))
		for i, name := range part {
			ops[i] = ch.op(p, p.at.resourcePath(name))
		}
		_, err := p.s.Txn(ctx, ops...)
		at := optimistic.CulpritIndex(err)
		switch {
		case err == nil:
			for _, name := range part {
				delete(ch.tried, name) // or it would count twice, if a later part is repeated
			}
			ch.changed = append(ch.changed, part...)
			return nil
		case at >= 0 && errors.Is(err, ch.done):
			if part, err = ch.findDue(ctx, p, part); err == nil {
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

// findDue returns the names of part that are not yet in the wanted state.
func (ch *change) findDue(ctx context.Context, p *memberNode, part []string) ([]string, error) {
	paths := make([]string, len(part))
	for i, name := range part {
		paths[i] = p.at.resourcePath(name)
	}
	r := optimistic.Reading{Ctx: ctx, Session: p.s}
	seen := r.StatAll(paths...)
	if r.Err != nil {
		return nil, r.Err
	}
	var due []string
	for i, name := range part {
		if seen[i].Exists == ch.to {
			ch.noteUnchanged(name)
		} else {
			due = append(due, name)
		}
	}
	return due, nil
}

// Resources lists the resources in order. The error wraps ErrNoGroup if the group
// does not exist.
func (a *Admin) Resources(ctx context.Context) (names []string, err error) {
	err = a.withGroup(ctx, "list resources of", func(p *memberNode) error {
		names, err = p.listResources(ctx)
		slices.Sort(names)
		return err
	})
	return names, err
}

func (p *memberNode) listResources(ctx context.Context) (names []string, err error) {
	err = p.readFresh(ctx, func() (err error) {
		names, _, err = p.s.Children(ctx, p.at.dirPath(resourcesDir))
		if errors.Is(err, session.ErrNoNode) {
			return ErrNoGroup
		}
		return err
	})
	return names, err
}

// Pause makes the coordinator begin no new rebalancing until Resume: new members
// get nothing, and the resources of members that go stay without an owner. A
// rebalancing in progress is finished.
func (a *Admin) Pause(ctx context.Context) error {
	return a.writeConfig(ctx, "pause", configRecord{Format: format, Paused: true, By: a.orZero().opts.ID, Since: time.Now().UTC()})
}

// Resume ends a pause.
func (a *Admin) Resume(ctx context.Context) error {
	return a.writeConfig(ctx, "resume", configRecord{Format: format})
}

// writeConfig writes the configuration once, on condition of the version that it has read.
// So a late write of a lost session changes nothing. If a write was not answered, and the
// configuration has changed since, configure does not repeat the write: either the write
// was applied, or another client has changed the configuration after it was sent. A
// repeated Pause would undo a Resume that another administrator has sent in response to
// the Pause. The configuration must be read at least as new as the former session has read
// it, since older data would count as a change.
func (a *Admin) writeConfig(ctx context.Context, op string, record configRecord) error {
	const none int32 = -1
	unanswered := none // the version on whose condition a write was sent
	return a.withGroup(ctx, op, func(p *memberNode) error {
		for {
			stat, err := p.readOldConfig(ctx, &record)
			if err == nil && unanswered != none && unanswered != stat.Version {
				return nil
			}
			if err == nil {
				_, err = p.s.Set(ctx, p.at.dirPath(configNode), encode(&record), stat.Version)
			}
			switch {
			case errors.Is(err, session.ErrNoNode):
				continue // it was removed: read that
			case errors.Is(err, session.ErrUnknownOutcome):
				unanswered = stat.Version
			case errors.Is(err, session.ErrBadVersion):
				continue
			}
			return err
		}
	})
}

// readOldConfig reads the configuration that next is to replace, and keeps the fields
// that a newer version has added. A configuration that makes no sense is replaced.
func (p *memberNode) readOldConfig(ctx context.Context, next *configRecord) (stat session.Stat, err error) {
	path := p.at.dirPath(configNode)
	err = p.readFresh(ctx, func() error {
		data, seen, err := p.s.Get(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			return ErrNoGroup
		}
		if err != nil {
			return err
		}
		old, err := decode[configRecord](path, data)
		if isNewer(err) {
			return err
		}
		stat, next.Kept = seen, old.Kept
		return nil
	})
	return stat, err
}

// orZero is a, or a zero Admin for nil.
func (a *Admin) orZero() *Admin {
	if a == nil {
		return &Admin{}
	}
	return a
}

// withGroup calls f in the client's session, in the next one if that is lost. f can be
// repeated. The error names the operation.
func (a *Admin) withGroup(ctx context.Context, op string, f func(p *memberNode) error) error {
	a = a.orZero()
	if err := a.retryConflicts(ctx, f); err != nil {
		return failure(ctx, op, string(a.at), err)
	}
	return nil
}

// retryConflicts calls f in the client's session, in the next one if that is lost. f can be
// repeated.
func (a *Admin) retryConflicts(ctx context.Context, f func(p *memberNode) error) error {
	if err := checkUsable(ctx, a.client, "rebalanser.Open", a.err); err != nil {
		return err
	}
	return a.client.Retry(ctx, func(s *session.Session) error {
		return f(&memberNode{s: s, at: a.at, acl: a.opts.ACL})
	})
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
