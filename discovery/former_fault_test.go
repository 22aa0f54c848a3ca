package discovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// formerTrial is a trial whose instance has lost its session, which the servers keep for
// its timeout.
func formerTrial(name string, typ discovery.Type, op func(context.Context, *world.Party, *discovery.Registration) error) world.Trial {
	tr := registeredTrial(name, typ, op)
	setup := tr.Setup
	tr.Setup = func(e *matrix.Env, p *world.Party) error {
		if err := setup(e, p); err != nil {
			return err
		}
		s, err := p.Tested.Session(context.Background())
		if err != nil {
			return err
		}
		e.Server.BlackHole(zktest.Link{Session: s.ID()}, zktest.ToClient)
		<-p.State.(*discovery.Registration).Context().Done()
		return nil
	}
	return tr
}

func TestTakeoverUnderEveryFault_CH52_CL19(t *testing.T) {
	for _, typ := range ephemerals {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			formerTrial("a session is lost by silence", typ, func(context.Context, *world.Party, *discovery.Registration) error {
				return nil
			}).Run(t)
		})
	}
}

func TestUnregisteringAfterALossUnderEveryFault_CH54(t *testing.T) {
	for _, typ := range ephemerals {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			tr := formerTrial("unregistered after a loss", typ, nil)
			tr.Op = func(ctx context.Context, p *world.Party) error {
				err := p.State.(*discovery.Registration).Unregister(ctx)
				world.Pause(5 * time.Second) // the deletion goes on in the background
				return err
			}
			tr.Run(t)
		})
	}
}
