package world_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
)

func TestLedgerWantsAHoldForEveryGrant(t *testing.T) {
	wait := observe.Wait{ID: 1, Kind: observe.Lock, Path: "/t", Begun: time.Now()}
	hold := func(id uint64, znode string) observe.Hold {
		return observe.Hold{ID: id, Kind: observe.Lock, Path: "/t", Wait: 1, Znode: znode, Token: 1, Session: 1}
	}
	begun, granted := observe.WaitBegun{Wait: wait}, observe.WaitEnded{Wait: wait}
	ended := func(h observe.Hold) observe.HoldEnded { return observe.HoldEnded{Hold: h, End: observe.Released} }
	a, b, twin := hold(2, "/t/a"), hold(3, "/t/b"), hold(4, "/t/a")
	for name, c := range map[string]struct {
		events []observe.Event
		wrong  string
	}{
		"one":             {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a)}, ""},
		"two of one wait": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, observe.HoldBegun{Hold: b}, ended(b), ended(a)}, ""},
		"one znode twice": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), observe.HoldBegun{Hold: twin}, ended(twin)}, "held wrongly"},
		"none":            {[]observe.Event{begun, granted}, "granted, and never held"},
		"too early":       {[]observe.Event{begun, observe.HoldBegun{Hold: a}, granted, ended(a)}, "held wrongly"},
		"refused":         {[]observe.Event{begun, observe.WaitEnded{Wait: wait, Err: errors.New("refused")}}, ""},
		"endless wait":    {[]observe.Event{begun}, "never ends"},
		"endless hold":    {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}}, "held, and never ends"},
		"ended twice":     {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), ended(a)}, "ends, and is not held"},
	} {
		t.Run(name, func(t *testing.T) {
			l := world.NewLedger()
			for _, e := range c.events {
				l.Observe(t.Context(), e)
			}
			l.Observe(t.Context(), observe.SessionChanged{Before: "connecting", Status: "closed"})
			if err := l.Check(); c.wrong != "" {
				require.ErrorContains(t, err, c.wrong)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
