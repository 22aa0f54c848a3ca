package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// DeleteAllOptions are the options of [Session.DeleteAll]; nil means the defaults.
type DeleteAllOptions struct {
	// Most is the largest number of znodes that may be deleted. A larger tree is left as it
	// is, with an error that wraps [ErrTooManyNodes]; the znodes are listed before the first one
	// is deleted. The default, 0, sets no limit, and lists nothing beforehand.
	Most int
	// Progress is called with the number of znodes deleted so far, on the goroutine of the
	// call, after every batch of up to 256.
	Progress func(deleted int)
}

// How many requests DeleteAll has in flight: a list may be large.
const (
	deletedTogether = 256
	listedTogether  = 32
)

// deleteRounds is how often DeleteAll lists a znode again to which other clients add znodes.
const deleteRounds = 10

// DeleteAll deletes the znode and all znodes below it, and returns how many it has deleted,
// also with an error. A znode that does not exist is an error that wraps [ErrNoNode]; znodes that
// go meanwhile are none. The root, and the servers' own znode /zookeeper, are refused with an
// error that wraps [ErrInvalidPath].
//
// The deletion is not atomic: other clients see a part of the tree while it takes place, and
// an error leaves a part; call DeleteAll again to delete the rest. Holds below the path end.
// Znodes that other clients create there during the call are deleted, too, also after the path
// itself was deleted and its reply was lost; if they do so again and again, the error wraps
// [ErrNotEmpty]. A lost connection is waited for; deletions whose replies it has cost are sent
// again, and not counted.
//
// It takes one request for each znode, and two more for each znode with children, up to 256 at
// a time. Its memory holds the names of the children of 32 znodes for each level of the tree.
func (s *Session) DeleteAll(ctx context.Context, path string, o *DeleteAllOptions) (deleted int, err error) {
	mustHaveContext(ctx)
	s.mustBeMade()
	d := &treeDeletion{s: s, ctx: ctx}
	if o != nil {
		d.DeleteAllOptions = *o
	}
	if err := d.validate(path); err != nil {
		return 0, refusedDeletion(path, err)
	}
	if err := d.limit(path); err != nil {
		return 0, err
	}
	err = d.deleteTrees([]string{path})
	if err == nil && d.deleted == 0 {
		err = refusedDeletion(path, ErrNoNode)
	}
	return d.deleted, err
}

// refusedDeletion is an error of DeleteAll itself; those of its requests name the request.
func refusedDeletion(path string, err error) error {
	return &OpError{Op: "delete all of", Path: path, Err: err}
}

// treeDeletion is one call of DeleteAll.
type treeDeletion struct {
	DeleteAllOptions
	s       *Session
	ctx     context.Context
	deleted int
}

func (d *treeDeletion) validate(path string) error {
	if err := ValidatePath(path); err != nil {
		return err
	}
	switch {
	case path == "/":
		return fmt.Errorf("%w: the root cannot be deleted; name a znode below it", ErrInvalidPath)
	case d.s.serverPath(path) == "/zookeeper":
		return fmt.Errorf("%w: it belongs to the servers", ErrInvalidPath)
	case d.Most < 0:
		return fmt.Errorf("%w: DeleteAllOptions.Most is %d; it must be 0 (no limit) or more", ErrInvalidArgument, d.Most)
	}
	return nil
}

// limit lists the tree level by level, if its size is limited, until the size is too large.
func (d *treeDeletion) limit(path string) error {
	if d.Most == 0 {
		return nil
	}
	n := 1
	for level := []string{path}; len(level) > 0; {
		var next []string
		for chunk := range slices.Chunk(level, listedTogether) {
			below, err := d.list(chunk)
			if err != nil {
				return err
			}
			if next = append(next, below...); n+len(next) > d.Most {
				return refusedDeletion(path, fmt.Errorf("%w: the limit is %d", ErrTooManyNodes, d.Most))
			}
		}
		n += len(next)
		level = next
	}
	return nil
}

// deleteTrees deletes the znodes at paths, and all znodes below them.
func (d *treeDeletion) deleteTrees(paths []string) error {
	for chunk := range slices.Chunk(paths, deletedTogether) {
		inner, err := d.delete(chunk)
		for round := 0; err == nil && len(inner) > 0; round++ {
			if round == deleteRounds {
				return refusedDeletion(inner[0], fmt.Errorf("%w: other clients create znodes there", ErrNotEmpty))
			}
			for parents := range slices.Chunk(inner, listedTogether) {
				below, err := d.list(parents)
				if err != nil {
					return err
				}
				if err := d.deleteTrees(below); err != nil {
					return err
				}
			}
			inner, err = d.delete(inner)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// delete deletes znodes, and returns those with children.
func (d *treeDeletion) delete(paths []string) (inner []string, err error) {
	before := d.deleted
	err = sendAll(d, "delete", paths, func(path string) *Future[struct{}] { return d.s.StartDelete(path, -1) },
		func(path string, _ struct{}, failed error) error {
			switch {
			case failed == nil:
				d.deleted++
			case errors.Is(failed, ErrNotEmpty):
				inner = append(inner, path)
			case !errors.Is(failed, ErrNoNode):
				return failed
			}
			return nil
		})
	if d.Progress != nil && d.deleted > before {
		d.Progress(d.deleted)
	}
	return inner, err
}

// list returns the paths of the children of znodes.
func (d *treeDeletion) list(parents []string) (paths []string, err error) {
	err = sendAll(d, "list", parents, func(path string) *Future[Seen] { return d.s.StartChildren(path, false) },
		func(path string, seen Seen, failed error) error {
			if failed != nil && !errors.Is(failed, ErrNoNode) {
				return failed
			}
			for _, name := range seen.Children {
				paths = append(paths, path+"/"+name)
			}
			return nil
		})
	return paths, err
}

// sendAll sends a request for each path, and again after a lost connection or to a server with
// too much to do, and calls take with the verdicts. It returns the first error of take, after
// all replies have come.
func sendAll[T any](d *treeDeletion, op string, paths []string, begin func(path string) *Future[T], take func(path string, v T, failed error) error) error {
	for lost := 0; len(paths) > 0; {
		if err := d.s.awaitConnection(d.ctx); err != nil {
			return &OpError{Op: op, Path: paths[0], Err: err}
		}
		sent := make([]*Future[T], len(paths))
		for i, path := range paths {
			sent[i] = begin(path)
		}
		var rest []string
		var again, err error
		for i, f := range sent {
			v, failed := f.Wait(d.ctx)
			repeats := NotSent(failed) || Unanswered(failed) || errors.Is(failed, ErrThrottled)
			if repeats && d.ctx.Err() == nil && d.s.link.Ended() == nil {
				rest, again = append(rest, paths[i]), failed
			} else if failed := take(paths[i], v, failed); err == nil {
				err = failed
			}
		}
		if err != nil {
			return err
		}
		if again != nil {
			if err := d.s.awaitRepetition(d.ctx, again, &lost); err != nil {
				return &OpError{Op: op, Path: rest[0], Err: err}
			}
		}
		paths = rest
	}
	return nil
}
