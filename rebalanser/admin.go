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
// before. It takes a request per 500 resources, and a few more if some of the resources
// exist. The error wraps ErrNoGroup if the
// group does not exist. After another error some resources may have been added:
// call AddResources again. If the client's session is lost meanwhile, requests of
// that session may still be carried out until the session's timeout is over.
//
// If a reply is lost, AddResources finds out which resources were added. If other clients have
// changed resources meanwhile, a missing resource may have been added and removed again:
// AddResources does not add it then, and the error wraps session.ErrUnknownOutcome.
func (a *Admin) AddResources(ctx context.Context, names ...string) (added []string, err error) {
	return a.changeResources(ctx, "add resources to", &change{names: names, to: true, done: session.ErrNodeExists, op: func(p *memberNode, path string) session.Op {
		return session.CreateOp(path, nil, session.Persistent, p.createOptions())
	}})
}

// RemoveResources removes resources, and returns the resources that existed
// before. Their owners are told to give them up; until they have, no other member
// owns the resources, even if they are added again. Requests and errors are those
// of AddResources. If a reply is lost, RemoveResources does not remove a resource that another
// client has added since.
func (a *Admin) RemoveResources(ctx context.Context, names ...string) (removed []string, err error) {
	return a.changeResources(ctx, "remove resources from", &change{names: names, to: false, done: session.ErrNoNode, op: func(_ *memberNode, path string) session.Op {
		return session.DeleteOp(path, -1)
	}})
}

func (a *Admin) changeResources(ctx context.Context, op string, ch *change) ([]string, error) {
	for _, name := range ch.names {
		if err := validName("resource", name); err != nil {
			return nil, failure(ctx, op, string(a.orZero().at), err)
		}
	}
	ch.tried = map[string]bool{}
	err := a.withGroup(ctx, op, func(p *memberNode) error { return ch.apply(ctx, p) })
	if err == nil && ch.unknown {
		err = failure(ctx, op, string(a.at), &session.UnknownOutcomeError{Op: op, Path: a.at.dirPath(resourcesDir), Reason: errChangedMeanwhile})
	}
	return ch.changed, err
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
