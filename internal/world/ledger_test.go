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
	twinWait := observe.Wait{ID: 6, Kind: observe.Lock, Path: "/t", Begun: wait.Begun}
	begun, granted := observe.WaitBegun{Wait: wait}, observe.WaitEnded{Wait: wait}
	ended := func(h observe.Hold) observe.HoldEnded { return observe.HoldEnded{Hold: h, End: observe.Released} }
	a, b, twin := hold(2, "/t/a"), hold(3, "/t/b"), hold(4, "/t/a")
	began := time.Now()
	lead := func(id uint64) observe.Wait {
		return observe.Wait{ID: id, Kind: observe.Leadership, Path: "/e", Begun: began}
	}
	led := observe.Hold{ID: 5, Kind: observe.Leadership, Path: "/e", Wait: 1, Znode: "/e/1", Token: 1, Session: 1}
	for name, c := range map[string]struct {
		events []observe.Event
		wrong  string
	}{
		"one":             {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a)}, ""},
		"two of one wait": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, observe.HoldBegun{Hold: b}, ended(b), ended(a)}, ""},
		"one znode twice": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), observe.HoldBegun{Hold: twin}, ended(twin)}, "held wrongly"},
		"none":            {[]observe.Event{begun, granted}, "granted, and never held"},
		"too early":       {[]observe.Event{begun, observe.HoldBegun{Hold: a}, granted, ended(a)}, "held wrongly"},
		"a shared leadership": {[]observe.Event{
			observe.WaitBegun{Wait: lead(1)}, observe.WaitBegun{Wait: lead(2)}, observe.WaitEnded{Wait: lead(2)}, observe.WaitEnded{Wait: lead(1)},
			observe.HoldBegun{Hold: led}, ended(led),
		}, ""},
		"a leadership without a hold": {[]observe.Event{observe.WaitBegun{Wait: lead(1)}, observe.WaitEnded{Wait: lead(1)}}, "granted, and never held"},
		"a lock is not shared": {[]observe.Event{
			begun, observe.WaitBegun{Wait: twinWait}, granted, observe.WaitEnded{Wait: twinWait}, observe.HoldBegun{Hold: a}, ended(a),
		}, "granted, and never held"},
		"refused":      {[]observe.Event{begun, observe.WaitEnded{Wait: wait, Err: errors.New("refused")}}, ""},
		"endless wait": {[]observe.Event{begun}, "never ends"},
		"endless hold": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}}, "held, and never ends"},
		"ended twice":  {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), ended(a)}, "ends, and is not held"},
	} {
		t.Run(name, func(t *testing.T) {
			l := world.NewLedger()
			l.ShareHolds("/e")
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
