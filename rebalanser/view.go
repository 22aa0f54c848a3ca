package rebalanser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

// view is what was read of a group.
type view struct {
	p        *memberNode
	st       Status
	members  members
	shards   shards
	wrote    time.Time
	all      []string
	barriers map[string]locktable.Entry
}

// note notes that a record cannot be read, if err says so.
func (v *view) note(path string, err error) {
	if err != nil {
		v.st.Unreadable = append(v.st.Unreadable, Unreadable{Path: path, Err: err})
	}
}

func (v *view) read(ctx context.Context) error {
	p := v.p
	mode, _, declared, err := readGroup(ctx, p.s, p.at)
	if errors.Is(err, session.ErrNoNode) || err == nil && !declared {
		return ErrNoGroup
	}
	if err != nil && !declared {
		return err
	}
	v.note(string(p.at), err)
	v.st.Mode = mode
	v.members, v.shards = members{p: p, mode: mode, known: map[string]candidate{}}, newShards(p)
	if err := v.records(ctx); err != nil {
		return err
	}
	// First what is owned, then who there is: an owner that is not among the
	// clients has gone.
	lists := map[string][]string{}
	for _, dir := range []string{resourcesDir, assignmentsDir, barriersDir, clientsDir} {
		names, _, err := p.s.Children(ctx, p.at.in(dir))
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return err
		}
		lists[dir] = names
		switch dir {
		case assignmentsDir:
			err = v.shards.load(ctx, names)
			for key, bad := range v.shards.bad {
				v.note(p.at.shard(key), bad)
			}
		case barriersDir:
			err = v.owners(ctx, names)
		case clientsDir:
			err = v.members.update(ctx, names)
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	v.all = lists[resourcesDir]
	slices.Sort(v.all)
	return v.failing(ctx)
}

// records reads the small ones.
func (v *view) records(ctx context.Context) error {
	p := v.p
	return p.readAll(ctx, []string{epochNode, configNode, statusNode}, p.at.in, func(name string, seen session.Seen) {
		path := p.at.in(name)
		switch name {
		case epochNode:
			r, err := decode[epochRecord](path, seen.Data)
			v.note(path, err)
			v.st.Coordinator, v.st.Epoch = r.Client, r.Epoch
		case configNode:
			r, err := decode[configRecord](path, seen.Data)
			v.note(path, err)
			v.st.Paused, v.st.PausedBy, v.st.PausedSince = r.Paused, r.By, r.Since
		case statusNode:
			r, _, err := parseStatus(path, seen.Data)
			if v.note(path, err); err != nil || len(seen.Data) == 0 {
				return
			}
			v.st.Generation, v.st.State, v.wrote = r.Generation, shareformat.States()[r.State], stamp(seen.Stat.Mtime)
		}
	})
}

// owners reads the barriers.
func (v *view) owners(ctx context.Context, names []string) error {
	table := v.p.at.barriers(nil, nil) // which is not asked
	return v.p.readAll(ctx, names, v.p.at.barrier, func(name string, seen session.Seen) {
		if !seen.Exists {
			return // it has gone meanwhile
		}
		b := table.Entry(name, seen.Data, seen.Stat)
		if b.Err != nil {
			v.st.Unreadable = append(v.st.Unreadable, Unreadable{v.p.at.barrier(name), name, b.Err})
		}
		v.barriers[name] = b
	})
}

// stamp is a time of the servers.
func stamp(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
