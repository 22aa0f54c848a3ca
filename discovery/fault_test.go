package discovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every one of its requests. The rows of
// the museum that are closed by this: an answer to a creation that is lost (CL14,
// CH53), leaving before it came (CH54), an expiry on the way (CH51, CH58).

// types are all types of instances.
var types = []discovery.Type{discovery.Dynamic, discovery.DynamicSequential, discovery.Static} // read only

func typed(id string, typ discovery.Type) discovery.Instance {
	i := instance(id)
	i.Type, i.RegistrationTime = typ, time.UnixMilli(946684800000)
	return i
}

// onlyOne checks that the wanted registration is the only one of its id in the
// service, as the other client sees it.
func onlyOne(ctx context.Context, p *world.Party, want discovery.Instance) error {
	list, err := discovery.NewRegistry(p.Other, base, nil).Instances(ctx, want.Service)
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].ID != want.ID || list[0].Port != want.Port {
		return fmt.Errorf("wanted %s on %d once, found %+v", want.ID, want.Port, list)
	}
	return nil
}

// steady waits until g is registered as wanted, and no other znode exists.
func steady(p *world.Party, g *discovery.Registration) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		for s, err := range g.States(ctx) {
			if err != nil {
				return fmt.Errorf("never registered: %w (%w)", err, s.Err)
			}
			if s.Registered {
				break
			}
		}
		// An update that the caller has given up may still be on its way.
		err := onlyOne(ctx, p, g.Instance())
		if err == nil || ctx.Err() != nil {
			return err
		}
		world.Pause(time.Second)
	}
}

// freely is the next client's test: it registers under the name, and is alone.
func freely(typ discovery.Type) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		g, err := discovery.NewRegistry(p.Other, base, &discovery.Options{Wait: true}).Register(ctx, typed("one", typ))
		if err != nil {
			return err
		}
		if err := onlyOne(ctx, p, g.Instance()); err != nil {
			return err
		}
		return g.Unregister(ctx)
	}
}

func TestRegisterAndUnregisterUnderEveryFault_CH53_CH54(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			world.Trial{
				Name: "Register, Unregister", Paths: []string{dir}, Next: freely(typ),
				Op: func(ctx context.Context, p *world.Party) error {
					g, err := discovery.NewRegistry(p.Tested, base, nil).Register(ctx, typed("one", typ))
					if err != nil {
						return err
					}
					if err := steady(p, g); err != nil {
						return err
					}
					return g.Unregister(ctx)
				},
			}.Run(t)
		})
	}
}

// registeredTrial is an operation on what is registered already.
func registeredTrial(name string, typ discovery.Type, op func(ctx context.Context, p *world.Party, g *discovery.Registration) error) world.Trial {
	return world.Trial{
		Name: name, Paths: []string{dir, base + "/api"}, Next: freely(typ),
		Setup: func(_ *matrix.Env, p *world.Party) error {
			ctx := context.Background()
			g, err := discovery.NewRegistry(p.Tested, base, nil).Register(ctx, typed("one", typ))
			p.State = g
			if err != nil {
				return err
			}
			// Neither service's path comes and goes with the case.
			s, err := p.Other.Session(ctx)
			if err != nil {
				return err
			}
			return s.EnsurePath(ctx, base+"/api", session.Persistent, nil)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			g := p.State.(*discovery.Registration)
			err := op(ctx, p, g)
			unsteady := steady(p, g)
			// Clean-up; a context that has ended does not keep it from going on.
			return world.Outcome(ctx, err, unsteady, g.Unregister(context.Background()))
		},
	}
}

func TestUpdateUnderEveryFault_CH51(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			registeredTrial("Update, Update", typ, func(ctx context.Context, _ *world.Party, g *discovery.Registration) error {
				i := g.Instance()
				i.Port = 1
				if err := g.Update(ctx, i); err != nil {
					return err
				}
				i.Port, i.Payload = 2, json.RawMessage(`{"n":2}`)
				return g.Update(ctx, i)
			}).Run(t)
		})
	}
}

func TestMoveUnderEveryFault_D7(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			registeredTrial("Move there and back", typ, func(ctx context.Context, p *world.Party, g *discovery.Registration) error {
				i := g.Instance()
				if err := g.Move(ctx, "api", i); err != nil {
					return err
				}
				if err := steady(p, g); err != nil {
					return err
				}
				if g.Instance().Service != "api" {
					return errors.New("it is where it was")
				}
				return g.Move(ctx, service, i)
			}).Run(t)
		})
	}
}

// TestKeepingUnderEveryFault has heartbeats suffer, the session expire and an
// administrator delete the node, for as long as it is registered (CL14).
func TestKeepingUnderEveryFault_CL14_CH58(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			tr := registeredTrial("registered for long, deleted, expired", typ, func(ctx context.Context, p *world.Party, g *discovery.Registration) error {
				world.Pause(2 * time.Second)
				if err := steady(p, g); err != nil {
					return err
				}
				s, err := p.Other.Session(context.Background())
				if err != nil {
					return err
				}
				if err := s.Delete(context.Background(), g.State().Path, -1); err != nil && !errors.Is(err, session.ErrNoNode) {
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

// TestRegisteringInTheNextSessionUnderEveryFault: the first session is lost, with
// a node that outlives it for a while (CH52, CL19).
func TestRegisteringInTheNextSessionUnderEveryFault_CH52(t *testing.T) {
	tr := registeredTrial("a session is lost", discovery.Dynamic, func(ctx context.Context, p *world.Party, g *discovery.Registration) error {
		return nil
	})
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
}

func TestWaitingForTheNameUnderEveryFault(t *testing.T) {
	var held *discovery.Registration
	world.Trial{
		Name: "Register that waits", Paths: []string{dir}, Next: freely(discovery.Dynamic),
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = discovery.NewRegistry(p.Other, base, nil).Register(context.Background(), typed("one", discovery.Dynamic))
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			left := make(chan error, 1)
			// Waited for below; ends with the unregistering.
			go func() {
				world.Pause(3 * time.Second)
				left <- held.Unregister(context.Background())
			}()
			g, err := discovery.NewRegistry(p.Tested, base, &discovery.Options{Wait: true}).Register(ctx, typed("one", discovery.Dynamic))
			if err == nil && (held.State().Registered || held.Context().Err() == nil) {
				return world.ErrBroken
			}
			if e := <-left; e != nil {
				return e
			}
			if err != nil {
				return err
			}
			if err := steady(p, g); err != nil {
				return err
			}
			return g.Unregister(ctx)
		},
	}.Run(t)
}

// TestGivingUpAWaitUnderEveryFault: a registration that leaves by a timeout
// leaves no znode, and deletes none of the owner of the name (CH54, CL19).
func TestGivingUpAWaitUnderEveryFault_CH54_CL19(t *testing.T) {
	var held *discovery.Registration
	world.Trial{
		Name: "Register that gives up", Paths: []string{dir}, Next: freely(discovery.Dynamic),
		Excuses: []error{context.DeadlineExceeded},
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = discovery.NewRegistry(p.Other, base, nil).Register(context.Background(), typed("one", discovery.Dynamic))
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			was := held.State()
			_, err := discovery.NewRegistry(p.Tested, base, &discovery.Options{Wait: true}).Register(short, typed("one", discovery.Dynamic))
			world.Pause(time.Minute)
			if held.State() != was {
				return fmt.Errorf("it was taken away: %+v", held.State())
			}
			if e := held.Unregister(context.Background()); e != nil {
				return e
			}
			return err
		},
	}.RunUntilDeadline(t)
}

func TestJoinAndLeaveUnderEveryFault_N13(t *testing.T) {
	for name, layout := range map[string]discovery.Layout{"Curator": discovery.Curator, "Kazoo": discovery.Kazoo, "KazooShallow": discovery.KazooShallow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &discovery.Options{Layout: layout, Wait: true}
			join := func(ctx context.Context, c *session.Client) error {
				g := discovery.NewGroup(c, dir, o)
				m, err := g.Join(ctx, "one", nil)
				if err != nil {
					return err
				}
				// lasting tells whether the registration lasted all the while; a state
				// may be of before or after.
				lasting := m.Context()
				list, err := g.Members(ctx)
				if err == nil && lasting.Err() == nil && (len(list) != 1 || list[0].ID != "one") {
					err = fmt.Errorf("members: %+v", list)
				}
				return errors.Join(err, m.Leave(ctx))
			}
			world.Trial{
				Name: "Join, Members, Leave", Paths: []string{dir},
				Op:   func(ctx context.Context, p *world.Party) error { return join(ctx, p.Tested) },
				Next: func(ctx context.Context, p *world.Party) error { return join(ctx, p.Other) },
			}.Run(t)
		})
	}
}
