package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every one of its requests.

// kids are the children of the folder, with their data, as the other client sees them.
func kids(ctx context.Context, p *world.Party) (data []string, err error) {
	err = p.Other.Retry(ctx, func(s *session.Session) error {
		data = nil
		if err := s.Sync(ctx, folder); err != nil {
			return err
		}
		names, _, err := s.Children(ctx, folder)
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		for _, name := range names {
			d, _, e := s.Get(ctx, folder+"/"+name)
			if e != nil && !errors.Is(e, session.ErrNoNode) {
				err = errors.Join(err, e)
			}
			if e == nil {
				data = append(data, string(d))
			}
		}
		return err
	})
	return data, err
}

// steady waits until k's znode exists, with the wanted data, and no other one does.
func steady(p *world.Party, k *node.Kept) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for last := error(nil); ; {
		if _, err := await(ctx, k.States, exists); err != nil {
			return fmt.Errorf("it does not stay: %w", errors.Join(last, err))
		}
		data, err := kids(ctx, p)
		if err == nil && (len(data) != 1 || data[0] != string(k.Data())) {
			err = fmt.Errorf("wanted %q once, found %q", k.Data(), data)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		last = err
		world.Pause(time.Second) // data that the caller has given up may still be on its way
	}
}

// clean are the paths without children at the end of a trial: TTL znodes stay for a while.
func clean(mode session.Mode) []string {
	if expires(mode) {
		return nil
	}
	return []string{folder}
}

// next keeps the znode after a trial. A TTL znode must have gone before that.
func next(mode session.Mode) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		if expires(mode) {
			if err := awaitExpiry(ctx, p); err != nil {
				return err
			}
		}
		k, err := node.New(p.Other, path, mode, withWait(mode)).Keep(ctx, []byte("next"))
		if err != nil {
			return err
		}
		if err := steady(p, k); err != nil {
			return err
		}
		return k.Release(ctx)
	}
}

// awaitExpiry waits until the folder is empty.
func awaitExpiry(ctx context.Context, p *world.Party) error {
	ctx, cancel := context.WithTimeout(ctx, 3*ttl)
	defer cancel()
	for {
		data, err := kids(ctx, p)
		if err != nil {
			return fmt.Errorf("the TTL znodes have not expired: %w", err)
		}
		if len(data) == 0 {
			return nil
		}
		world.Pause(ttl / 10)
	}
}

func withWait(mode session.Mode) *node.Options {
	o := node.Options{Wait: true}
	if expires(mode) {
		o.TTL = ttl
	}
	return &o
}

// server deletes expired znodes soon.
func server() *zktest.Options { return &zktest.Options{ContainerInterval: 5 * time.Second} }

// keepAndRelease keeps the znode, which does not go by itself, and releases it.
func keepAndRelease(mode session.Mode) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		k, err := node.New(p.Tested, path, mode, options(mode)).Keep(ctx, []byte("a"))
		if err != nil {
			return err
		}
		if err := steady(p, k); err != nil {
			return err
		}
		return k.Release(ctx)
	}
}

func TestKeepAndReleaseUnderEveryFault(t *testing.T) {
	for _, mode := range modes {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			t.Parallel()
			world.Trial{
				Name: "Keep, Release", Paths: clean(mode), Next: next(mode), Options: server(),
				Op: keepAndRelease(mode),
			}.Run(t)
		})
	}
}

// keptTrial is an operation on a znode that is kept already.
func keptTrial(what string, mode session.Mode, op func(ctx context.Context, p *world.Party, k *node.Kept) error) world.Trial {
	return world.Trial{
		Name: what, Paths: clean(mode), Next: next(mode), Options: server(),
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			p.State, err = node.New(p.Tested, path, mode, options(mode)).Keep(context.Background(), []byte("a"))
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			k := p.State.(*node.Kept)
			err := op(ctx, p, k)
			unsteady := steady(p, k)
			// Clean-up; a context that has ended does not keep it from going on.
			return world.Outcome(ctx, err, unsteady, k.Release(context.Background()))
		},
	}
}

func TestSetDataUnderEveryFault(t *testing.T) {
	for _, mode := range modes {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			t.Parallel()
			keptTrial("SetData, SetData", mode, func(ctx context.Context, _ *world.Party, k *node.Kept) error {
				if err := k.SetData(ctx, []byte("b")); err != nil {
					return err
				}
				return k.SetData(ctx, []byte("c"))
			}).Run(t)
		})
	}
}

// Heartbeats and refreshes suffer, the session expires, and an administrator deletes the
// znode with all that is below.
func TestKeepingUnderEveryFault(t *testing.T) {
	for _, mode := range modes {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			t.Parallel()
			tr := keptTrial("kept for long, deleted", mode, func(ctx context.Context, p *world.Party, k *node.Kept) error {
				world.Pause(2 * time.Second)
				if err := steady(p, k); err != nil {
					return err
				}
				if err := deleteTree(p, k.Path()); err != nil {
					return err
				}
				world.Pause(2 * time.Second)
				return nil
			})
			tr.Counts = func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" }
			tr.Run(t)
		})
	}
}

// deleteTree deletes the znode, and its children.
func deleteTree(p *world.Party, path string) error {
	ctx := context.Background()
	return p.Other.Retry(ctx, func(s *session.Session) error {
		names, _, err := s.Children(ctx, path)
		for _, name := range names {
			if e := s.Delete(ctx, path+"/"+name, -1); e != nil && !errors.Is(e, session.ErrNoNode) {
				return e
			}
		}
		if err == nil {
			err = s.Delete(ctx, path, -1)
		}
		if errors.Is(err, session.ErrNoNode) {
			return nil
		}
		return err
	})
}

// The session is lost; the znode outlives it for a while.
func TestKeepingInTheNextSessionUnderEveryFault(t *testing.T) {
	for _, mode := range []session.Mode{session.Ephemeral, session.EphemeralSequential, session.Persistent} {
		t.Run(name(mode), func(t *testing.T) {
			t.Parallel()
			tr := keptTrial("a session is lost", mode, func(context.Context, *world.Party, *node.Kept) error { return nil })
			setup := tr.Setup
			tr.Setup = func(e *matrix.Env, p *world.Party) error {
				if err := setup(e, p); err != nil {
					return err
				}
				s, err := p.Tested.Session(context.Background())
				if err != nil {
					return err
				}
				return e.Server.ExpireSession(s.ID())
			}
			tr.Run(t)
		})
	}
}

// A znode exists already, and is taken over.
func TestTakingOverUnderEveryFault(t *testing.T) {
	for _, mode := range []session.Mode{session.Persistent, session.Container, session.PersistentTTL} {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			t.Parallel()
			world.Trial{
				Name: "Keep of an existing znode", Options: server(),
				Setup: func(e *matrix.Env, _ *world.Party) error {
					return errors.Join(e.Server.Create(folder, nil), e.Server.Create(path, []byte("old")))
				},
				Op: keepAndRelease(mode),
			}.Run(t)
		})
	}
}

func TestWaitingForTheZnodeUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Keep that waits", Paths: []string{folder}, Next: next(session.Ephemeral),
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			p.State, err = node.New(p.Other, path, session.Ephemeral, nil).Keep(context.Background(), []byte("other"))
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			held, left := p.State.(*node.Kept), make(chan error, 1)
			// Waited for below; ends with the release.
			go func() {
				world.Pause(3 * time.Second)
				left <- held.Release(context.Background())
			}()
			k, err := node.New(p.Tested, path, session.Ephemeral, &node.Options{Wait: true}).Keep(ctx, []byte("a"))
			if err == nil && (held.State().Exists || held.Context().Err() == nil) {
				return world.ErrBroken
			}
			if e := <-left; e != nil {
				return e
			}
			if err != nil {
				return err
			}
			if err := steady(p, k); err != nil {
				return err
			}
			return k.Release(ctx)
		},
	}.Run(t)
}
