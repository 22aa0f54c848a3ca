package world_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
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
	expired := fmt.Errorf("%w: %w", session.ErrLost, session.ErrExpired)
	meets := observe.WaitBegun{Wait: observe.Wait{ID: 8, Kind: observe.Round, Path: "/b", Begun: began}}
	round, passes := observe.RoundPassed{Path: "/b", Wait: 8, Round: 1, Parties: 2}, observe.WaitEnded{Wait: meets.Wait}
	cacheBegun, stale := observe.CacheBegun{Cache: 9, Path: "/c"}, observe.CacheStale{Cache: 9, Path: "/c", Err: expired}
	synced := func(again bool) observe.CacheSynced { return observe.CacheSynced{Cache: 9, Path: "/c", Again: again} }
	cacheEnded := observe.CacheEnded{Cache: 9, Path: "/c", Err: context.Canceled}
	member := func(id int, change string) observe.Event {
		return observe.MemberChanged{Path: "/j", Worker: id, Change: change}
	}
	for name, c := range map[string]struct {
		events []observe.Event
		wrong  string
	}{
		"workers": {[]observe.Event{
			member(0, "joined"), member(1, "joined"), member(0, "died"), member(0, "restarted"), member(0, "failed"), member(0, "left"), member(0, "died"), member(0, "removed"),
			member(1, "removed"), member(1, "joined"), member(1, "removed"), member(0, "joined"), member(2, "died"), member(2, "removed"),
		}, ""},
		"a worker that is removed after it":    {[]observe.Event{member(0, "failed"), member(0, "removed")}, "has gone (failed)"},
		"a worker that is removed twice":       {[]observe.Event{member(0, "removed"), member(0, "removed")}, "has gone (removed)"},
		"a worker without a number, and a job": {[]observe.Event{observe.MemberChanged{Path: "/j", Worker: -1, Change: "left"}}, "a change of no worker"},
		"one":                                  {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a)}, ""},
		"two of one wait":                      {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, observe.HoldBegun{Hold: b}, ended(b), ended(a)}, ""},
		"one znode twice":                      {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), observe.HoldBegun{Hold: twin}, ended(twin)}, "held wrongly"},
		"none":                                 {[]observe.Event{begun, granted}, "granted, and never held"},
		"too early":                            {[]observe.Event{begun, observe.HoldBegun{Hold: a}, granted, ended(a)}, "held wrongly"},
		"a shared leadership": {[]observe.Event{
			observe.WaitBegun{Wait: lead(1)}, observe.WaitBegun{Wait: lead(2)}, observe.WaitEnded{Wait: lead(2)}, observe.WaitEnded{Wait: lead(1)},
			observe.HoldBegun{Hold: led}, ended(led),
		}, ""},
		"a leadership without a hold": {[]observe.Event{observe.WaitBegun{Wait: lead(1)}, observe.WaitEnded{Wait: lead(1)}}, "granted, and never held"},
		"a lock is not shared": {[]observe.Event{
			begun, observe.WaitBegun{Wait: twinWait}, granted, observe.WaitEnded{Wait: twinWait}, observe.HoldBegun{Hold: a}, ended(a),
		}, "granted, and never held"},
		"released, and lost": {[]observe.Event{
			begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Released, Err: expired},
		}, "a loss is no release"},
		"lost without a reason": {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Lost}}, "lost without a loss"},
		"unconfirmed, as the caller left": {[]observe.Event{
			begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Unconfirmed, Err: context.Canceled},
		}, "lost without a loss"},
		"expired, and trusted": {[]observe.Event{
			begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Lost, Err: expired, TrustLeft: 1},
		}, "trust that is not left"},
		"released, and trusted": {[]observe.Event{
			begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Released, TrustLeft: 1},
		}, "trust that is not left"},
		"expired":                     {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, observe.HoldEnded{Hold: a, End: observe.Lost, Err: expired}}, ""},
		"a round":                     {[]observe.Event{meets, round, passes}, ""},
		"a round without its event":   {[]observe.Event{meets, passes}, "a round was passed: false"},
		"a round twice":               {[]observe.Event{meets, round, round, passes}, "passes no round"},
		"a round of no wait":          {[]observe.Event{round}, "passes no round"},
		"a round that has failed":     {[]observe.Event{meets, round, observe.WaitEnded{Wait: meets.Wait, Err: expired}}, "a round was passed: true"},
		"a cache":                     {[]observe.Event{cacheBegun, synced(false), stale, synced(true), stale, cacheEnded, cacheBegun, synced(true), stale, cacheEnded}, ""},
		"a cache that is never stale": {[]observe.Event{cacheBegun, synced(false), cacheEnded}, "ends wrongly"},
		"a cache that never ends":     {[]observe.Event{cacheBegun, synced(false), stale}, "runs, and never ends"},
		"a cache loaded twice":        {[]observe.Event{cacheBegun, synced(false), synced(true), stale, cacheEnded}, "is loaded wrongly"},
		"a cache that does not run":   {[]observe.Event{synced(false)}, "is loaded wrongly"},
		"a stale cache twice":         {[]observe.Event{cacheBegun, synced(false), stale, stale, cacheEnded}, "is not current"},
		"refused":                     {[]observe.Event{begun, observe.WaitEnded{Wait: wait, Err: errors.New("refused")}}, ""},
		"endless wait":                {[]observe.Event{begun}, "never ends"},
		"endless hold":                {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}}, "held, and never ends"},
		"ended twice":                 {[]observe.Event{begun, granted, observe.HoldBegun{Hold: a}, ended(a), ended(a)}, "ends, and is not held"},
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
