package optimistic

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// together is how many deletions are in flight at a time.
const together = 256

// DeleteAll deletes znodes, many at a time, that need not exist, and may have changed. A
// znode that has children is an error that wraps session.ErrNotEmpty.
func DeleteAll(ctx context.Context, s *session.Session, paths ...string) error {
	return deleteAll(ctx, s, paths, func(_ string, err error) error { return err })
}

// DeleteBelow deletes all that is below path, but not path itself, nor its children
// whose names are in but. If other clients create znodes there meanwhile, the error is
// [ErrChanged]. Call DeleteBelow only for paths that no client uses again: a deletion
// whose reply is lost may be sent twice.
func DeleteBelow(ctx context.Context, s *session.Session, path string, but ...string) error {
	r := &Reading{Ctx: ctx, Session: s}
	var below []string
	for _, name := range r.List(path) {
		if !slices.Contains(but, name) {
			below = append(below, path+"/"+name)
		}
	}
	if r.Err != nil {
		return r.Err
	}
	return deleteAll(ctx, s, below, func(child string, err error) error {
		if errors.Is(err, session.ErrNotEmpty) {
			_, err = s.DeleteAll(ctx, child, nil)
		}
		switch {
		case errors.Is(err, session.ErrNotEmpty):
			return ErrChanged // another client still creates znodes there
		case errors.Is(err, session.ErrNoNode):
			return nil
		}
		return err
	})
}

// deleteAll deletes znodes, and calls mend for each that could not be deleted.
func deleteAll(ctx context.Context, s *session.Session, paths []string, mend func(path string, err error) error) error {
	for chunk := range slices.Chunk(paths, together) {
		sent := make([]*session.Future[struct{}], len(chunk))
		for i, path := range chunk {
			sent[i] = s.StartDelete(path, -1)
		}
		for i, f := range sent {
			_, err := f.Wait(ctx)
			if err == nil || errors.Is(err, session.ErrNoNode) {
				continue
			}
			if err := mend(chunk[i], err); err != nil {
				return err
			}
		}
	}
	return nil
}
