package world_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

var update = flag.Bool("update", false, "write the golden files again") // read only

// A session that holds a znode for a minute.
func TestEventsOfASessionUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "hold for a minute", Excuses: []error{session.ErrLost, session.ErrUnknownOutcome}, Watched: true,
		Shows: func(e observe.Event) bool {
			switch e.(type) {
			case observe.SessionChanged, observe.TrustLow:
				return true
			}
			return false // how many there are depends on the time
		},
		Op: func(ctx context.Context, p *world.Party) error {
			s, err := p.Tested.Session(ctx)
			if err != nil {
				return err
			}
			made, err := s.Create(ctx, "/held", nil, session.Ephemeral, nil)
			if err != nil {
				return err
			}
			if _, err = s.Hold(ctx, made.Path, nil); err != nil {
				return err
			}
			world.Pause(time.Minute)
			return s.Err()
		},
	}.RunObserved(t, *update, "session")
}
