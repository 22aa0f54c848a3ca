package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
)

var errRefused = errors.New("refused")

func TestLogHasALineForEachEvent(t *testing.T) {
	wait := observe.Wait{ID: 7, Kind: observe.Lock, Path: "/l"}
	try := observe.Wait{ID: 7, Kind: observe.Lock, Path: "/l", Try: true}
	hold := observe.Hold{ID: 8, Kind: observe.Lock, Path: "/l", Znode: "/l/1", Token: 5, Session: 255}
	lead := observe.Hold{ID: 8, Kind: observe.Leadership, Path: "/e", Znode: "/e/1", Token: 5, Session: 255}
	for _, c := range []struct {
		event observe.Event
		want  string
	}{
		{observe.WaitBegun{Wait: wait}, `DEBUG "wait begun" kind=lock path=/l wait=7 try=false`},
		{observe.WaitQueued{Wait: wait, Znode: "/l/1", Ahead: 2}, `DEBUG "wait queued" kind=lock path=/l wait=7 try=false znode=/l/1 ahead=2`},
		{observe.WaitEnded{Wait: wait, Took: time.Second}, `DEBUG "wait ended" kind=lock path=/l wait=7 try=false took=1s`},
		{observe.WaitEnded{Wait: wait, Err: context.Canceled}, `DEBUG "wait ended" kind=lock path=/l wait=7 try=false took=0s err="context canceled"`},
		{observe.WaitEnded{Wait: wait, Err: errRefused}, `WARN "wait ended" kind=lock path=/l wait=7 try=false took=0s err=refused`},
		{observe.WaitEnded{Wait: try, Err: errRefused, Busy: true}, `DEBUG "wait ended" kind=lock path=/l wait=7 try=true took=0s err=refused`},
		{observe.WaitEnded{Wait: try, Err: errRefused}, `WARN "wait ended" kind=lock path=/l wait=7 try=true took=0s err=refused`},
		{observe.HoldBegun{Hold: hold}, `DEBUG "hold begun" kind=lock path=/l hold=8 znode=/l/1 token=5 session=0xff local=false`},
		{observe.HoldBegun{Hold: lead}, `INFO "hold begun" kind=leadership path=/e hold=8 znode=/e/1 token=5 session=0xff local=false`},
		{observe.HoldEnded{Hold: hold, End: observe.HandedOver}, `DEBUG "hold ended" kind=lock path=/l hold=8 znode=/l/1 token=5 session=0xff local=false took=0s end="handed over"`},
		{
			observe.HoldEnded{Hold: lead, End: observe.Lost, Err: errRefused, TrustLeft: time.Second},
			`WARN "hold ended" kind=leadership path=/e hold=8 znode=/e/1 token=5 session=0xff local=false took=0s end=lost trust_left=1s err=refused`,
		},
		{
			observe.HoldEnded{Hold: hold, End: observe.Unconfirmed, Err: fmt.Errorf("%w: refused", context.Canceled)},
			`WARN "hold ended" kind=lock path=/l hold=8 znode=/l/1 token=5 session=0xff local=false took=0s end=unconfirmed err="context canceled: refused"`,
		},
		{
			observe.HoldEnded{Hold: hold, End: observe.Released, Err: context.Canceled},
			`DEBUG "hold ended" kind=lock path=/l hold=8 znode=/l/1 token=5 session=0xff local=false took=0s end=released err="context canceled"`,
		},
		{observe.CacheBegun{Path: "/c", Cache: 3}, `DEBUG "cache begun" path=/c cache=3`},
		{observe.CacheEnded{Path: "/c", Cache: 3, Err: context.Canceled}, `DEBUG "cache ended" path=/c cache=3 err="context canceled"`},
		{observe.CacheEnded{Path: "/c", Cache: 3, Err: errRefused}, `WARN "cache ended" path=/c cache=3 err=refused`},
		{observe.RoundPassed{Path: "/b", Wait: 7, Round: 3, Parties: 4}, `DEBUG "round passed" path=/b wait=7 round=3 parties=4`},
		{observe.BatchWritten{Path: "/c", Operations: 9, Conflicts: 1, Unknown: 2}, `DEBUG "batch written" path=/c operations=9 conflicts=1 unknown=2 took=0s declined=false`},
		{observe.BatchWritten{Path: "/c", Operations: 1, Err: errRefused}, `WARN "batch written" path=/c operations=1 conflicts=0 unknown=0 took=0s declined=false err=refused`},
		{observe.BatchWritten{Path: "/c", Operations: 1, Err: errRefused, Declined: true}, `DEBUG "batch written" path=/c operations=1 conflicts=0 unknown=0 took=0s declined=true err=refused`},
		{observe.TransactionEnded{Attempts: 2, Err: errRefused, Declined: true}, `DEBUG "transaction ended" attempts=2 unknown=0 took=0s declined=true err=refused`},
		{observe.TransactionEnded{Attempts: 2, Err: errRefused}, `WARN "transaction ended" attempts=2 unknown=0 took=0s declined=false err=refused`},
		{observe.CacheSynced{Path: "/c", Entries: 4, Again: true}, `INFO "cache synced" path=/c cache=0 entries=4 took=0s again=true`},
		{observe.CacheStale{Path: "/c", Err: errRefused}, `WARN "cache stale" path=/c cache=0 err=refused`},
		{observe.MemberChanged{Path: "/j", Worker: 2, Change: "died"}, `INFO "member changed" path=/j worker=2 change=died`},
		{observe.Rebalanced{Path: "/r", Generation: 6, Members: 2, Resources: 9, Moves: 3}, `INFO rebalanced path=/r generation=6 members=2 resources=9 moves=3 took=0s`},
		{observe.CoordinationEnded{Path: "/r"}, `INFO "coordination ended" path=/r`},
		{observe.AssignmentTaken{Path: "/r", Generation: 6, Resources: 5}, `INFO "assignment taken" path=/r generation=6 resources=5 took=0s`},
		{observe.TaskChanged{Path: "/q", Task: "t", From: "assigned", To: "done", Attempt: 1}, `DEBUG "task changed" path=/q task=t from=assigned to=done attempt=1 took=0s`},
		{observe.OutcomeUnknown{Recipe: "job", Path: "/j", Op: "scale", Err: context.Canceled}, `WARN "outcome unknown" recipe=job path=/j op=scale err="context canceled"`},
		{observe.SessionChanged{Status: "connected", Before: "lost", Session: 255, Server: "z:1"}, `INFO "session connected" session=0xff server=z:1 before=lost took=0s`},
		{observe.SessionChanged{Status: "suspended", Before: "connected", Err: errRefused}, `WARN "session suspended" session=0x0 server="" before=connected took=0s err=refused`},
		{observe.NoConnection{Status: "lost", Session: 255, For: time.Minute}, `WARN "no connection" session=0xff holds=0 trust_left=0s status=lost for=1m0s`},
		{observe.TrustLow{Session: 255, Holds: 2, TrustLeft: time.Second}, `WARN "trust low" session=0xff holds=2 trust_left=1s`},
		{observe.SessionSampled{Session: 255, Watches: 3}, `DEBUG "session sampled" session=0xff holds=0 trust_left=0s watches=3 deletions=0`},
		{observe.HeartbeatEnded{Session: 255, Err: errRefused}, `DEBUG "heartbeat ended" session=0xff holds=0 trust_left=0s took=0s err=refused`},
	} {
		var out bytes.Buffer
		log := observe.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
		log.Observe(context.Background(), c.event)
		level, rest, _ := strings.Cut(c.want, " ")
		require.Equal(t, fmt.Sprintf("level=%s msg=%s\n", level, rest), out.String())
	}
}

func TestLogMakesNoLineThatIsNotWanted(t *testing.T) {
	var out bytes.Buffer
	log := observe.Log(slog.New(slog.NewTextHandler(&out, nil)))
	log.Observe(context.Background(), observe.WaitBegun{})
	require.Empty(t, out.String())
}

func TestObserversAreJoined(t *testing.T) {
	require.Nil(t, observe.Join())
	require.Nil(t, observe.Join(nil, nil))
	var heard []string
	hear := func(name string) observe.Observer {
		return observe.Func(func(_ context.Context, e observe.Event) { heard = append(heard, name+" "+e.Name()) })
	}
	counts := &counting{}
	all := observe.Join(observe.Join(hear("a"), hear("b")), nil, counts)
	all.Observe(context.Background(), observe.TrustLow{})
	require.Equal(t, []string{"a trust low", "b trust low"}, heard)
	r, ok := all.(observe.RequestObserver)
	require.True(t, ok)
	r.ObserveRequest(context.Background(), observe.Request{Op: "get"})
	require.Equal(t, 1, counts.events)
	require.Equal(t, 1, counts.requests)
	_, ok = observe.Join(hear("a"), hear("b")).(observe.RequestObserver)
	require.False(t, ok, "none of them receives requests")
}

// counting counts.
type counting struct{ events, requests int }

func (c *counting) Observe(context.Context, observe.Event)          { c.events++ }
func (c *counting) ObserveRequest(context.Context, observe.Request) { c.requests++ }
