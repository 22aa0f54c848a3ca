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

// view has the records that were read of a group.
type view struct {
	p        *memberNode
	st       Status
	members  members
	shards   shards
	wrote    time.Time
	all      []string
	barriers map[string]locktable.Entry
}

// noteUnreadable notes that a record cannot be read, if err says so.
func (v *view) noteUnreadable(path string, err error) {
	if err != nil {
		v.st.Unreadable = append(v.st.Unreadable, Unreadable{Path: path, Err: err})
	}
}

func (v *view) readGroup(ctx context.Context) error {
	p := v.p
	mode, _, declared, err := readGroup(ctx, p.s, p.at)
	if errors.Is(err, session.ErrNoNode) || err == nil && !declared {
		return ErrNoGroup
	}
	if err != nil && !declared {
		return err
	}
	v.noteUnreadable(string(p.at), err)
	v.st.Mode = mode
	v.members, v.shards = members{p: p, mode: mode, known: map[string]candidate{}}, newShards(p)
	if err := v.readRecords(ctx); err != nil {
		return err
	}
	// The owners are read before the clients: an owner that is not among the
	// clients has gone.
	lists := map[string][]string{}
	for _, dir := range []string{resourcesDir, assignmentsDir, barriersDir, clientsDir} {
		names, err := p.list(ctx, p.at.dirPath(dir))
		if err != nil {
			return err
		}
		lists[dir] = names
		switch dir {
		case assignmentsDir:
			err = v.shards.loadShards(ctx, names)
			for key, bad := range v.shards.bad {
				v.noteUnreadable(p.at.shardPath(key), bad)
			}
		case barriersDir:
			err = v.readOwners(ctx, names)
		case clientsDir:
			err = v.members.updateClients(ctx, names)
		}
		if err != nil {
			return err
		}
	}
	v.all = lists[resourcesDir]
	slices.Sort(v.all)
	return v.readFailing(ctx)
}

// readRecords reads the small ones.
func (v *view) readRecords(ctx context.Context) error {
	p := v.p
	return p.readAll(ctx, []string{epochNode, configNode, statusNode}, p.at.dirPath, func(name string, seen session.Seen) {
		path := p.at.dirPath(name)
		switch name {
		case epochNode:
			r, err := decode[epochRecord](path, seen.Data)
			v.noteUnreadable(path, err)
			v.st.Coordinator, v.st.Epoch = r.Client, r.Epoch
		case configNode:
			r, err := decode[configRecord](path, seen.Data)
			v.noteUnreadable(path, err)
			v.st.Paused, v.st.PausedBy, v.st.PausedSince = r.Paused, r.By, r.Since
		case statusNode:
			r, _, err := parseStatus(path, seen.Data)
			if v.noteUnreadable(path, err); err != nil || len(seen.Data) == 0 {
				return
			}
			v.st.Generation, v.st.State, v.wrote = r.Generation, shareformat.States()[r.State], serverTime(seen.Stat.Mtime)
		}
	})
}

// readOwners reads the barriers.
func (v *view) readOwners(ctx context.Context, names []string) error {
	table := v.p.at.barrierTable(nil, nil) // which is not asked
	return v.p.readAll(ctx, names, v.p.at.barrierPath, func(name string, seen session.Seen) {
		if !seen.Exists {
			return // it has gone meanwhile
		}
		b := table.Entry(name, seen.Data, seen.Stat)
		if b.Err != nil {
			v.st.Unreadable = append(v.st.Unreadable, Unreadable{v.p.at.barrierPath(name), name, b.Err})
		}
		v.barriers[name] = b
	})
}

// serverTime is a time of the servers.
func serverTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
