package rebalanser

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// readGroup reads the mode of the group at a path. declared is false if the group was
// not declared yet: its path may exist earlier, since other clients may create resources
// at any time. If the record is garbage, but the folders tell the mode, declared is
// true, and the error wraps ErrRecord.
func readGroup(ctx context.Context, s *session.Session, at layout) (mode Mode, stat session.Stat, declared bool, err error) {
	data, stat, err := s.Get(ctx, string(at))
	if err != nil {
		return 0, stat, false, err
	}
	record, err := decode[groupRecord](string(at), data)
	switch {
	case len(data) == 0:
		return 0, stat, false, nil
	case isNewer(err):
		return 0, stat, false, err
	case err == nil && record.Format == format:
		for _, m := range []Mode{ResourceBarrier, GlobalBarrier} {
			if m.String() == record.Mode {
				return m, stat, true, nil
			}
		}
	}
	r := optimistic.Reading{Ctx: ctx, Session: s}
	folders := r.List(string(at))
	if r.Err != nil {
		return 0, stat, false, r.Err
	}
	if m, known := inferMode(folders); known {
		return m, stat, true, garbageError(string(at), data)
	}
	return 0, stat, false, noGroup(at, data)
}

// inferMode tells the mode of a group by its folders: by one that only a group of that mode
// has, if there are some that every group has. Others may be missing, and are made again.
func inferMode(folders []string) (mode Mode, known bool) {
	has := func(dir string) bool { return slices.Contains(folders, dir) }
	common := 0
	for _, dir := range []string{resourcesDir, epochNode, assignmentsDir, configNode} {
		if has(dir) {
			common++
		}
	}
	isResource, isGlobal := has(barriersDir), has(statusNode) || has(stoppedDir)
	if isGlobal {
		mode = GlobalBarrier
	}
	return mode, common >= 2 && isResource != isGlobal
}

// noGroup is the error of a znode whose data is not a record of a group. A znode with
// empty data is a group that was not declared yet.
func noGroup(at layout, data []byte) error {
	return fmt.Errorf("%w; if it is meant to be a group, set its data to the empty string, "+
		"and the next member declares the group", garbageError(string(at), data))
}

// ensureGroup creates the missing znodes of a group of that mode. Several clients
// may do so at once: each write is conditional on the preceding reads, or creates a
// znode that all clients create alike.
func ensureGroup(ctx context.Context, s *session.Session, at layout, mode Mode, acl []session.ACL) error {
	p := &memberNode{s: s, at: at, acl: acl}
	return s.Retry(ctx, func() error {
		for {
			err := s.EnsurePath(ctx, string(at), session.Persistent, p.createOptions())
			if err == nil {
				err = p.declareMode(ctx, mode)
			}
			if !errors.Is(err, session.ErrNodeExists) && !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrNoNode) {
				return err
			}
			// Another client was faster, or has removed the group.
		}
	})
}

// declareMode writes the mode of the group, unless the mode was declared before,
// and creates the folders of the group.
func (p *memberNode) declareMode(ctx context.Context, mode Mode) error {
	var stat session.Stat
	var declared bool
	var there []string
	err := p.readFresh(ctx, func() (err error) {
		var is Mode
		is, stat, declared, err = readGroup(ctx, p.s, p.at)
		switch {
		case err != nil && !declared:
			return err
		case declared && is != mode:
			return fmt.Errorf("%w: it is %v, not %v", ErrMode, is, mode)
		}
		declared = declared && err == nil // garbage is replaced
		there, _, err = p.s.Children(ctx, string(p.at))
		return err
	})
	switch {
	case err != nil:
		return err
	case !declared:
		data := encode(&groupRecord{Format: format, Mode: mode.String()})
		if _, err := p.s.Set(ctx, string(p.at), data, stat.Version); err != nil {
			return err
		}
	}
	var ops []session.Op
	for _, dir := range mode.groupFolders() {
		if !slices.Contains(there, dir) {
			ops = append(ops, session.CreateOp(p.at.dirPath(dir), nil, session.Persistent, p.createOptions()))
		}
	}
	_, err = p.s.Txn(ctx, ops...)
	return err
}
