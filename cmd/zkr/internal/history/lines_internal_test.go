package history

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// length is the number of transactions of a random history.
const length = 400

// queues are random transactions at and beside a few queues: mostly contenders that come and go,
// and then all that may make another recipe of a queue, or of the znodes around it.
type queues struct {
	*rand.Rand
	nodes map[string]int64 // the owner, by path
	seq   map[string]int   // the next number, by folder
	style map[string]int   // of the names, by folder
	zxid  txnlog.Zxid
	// folders may have queues. The greater rare is, the fewer are the oddities.
	folders []string
	rare    int
}

func newQueues(seed uint64) *queues {
	q := &queues{Rand: rand.New(rand.NewPCG(seed, 8)), nodes: map[string]int64{}, seq: map[string]int{}, style: map[string]int{}}
	q.folders = []string{"/app/locks/a", "/app/locks/b", "/app/leader", "/app/x/locks", "/app/x/q", "/q", "/app/locks"}
	q.folders = q.folders[:one(q, 2, 3, 6, 7)]
	q.rare = one(q, 1, 10, 50)
	for _, folder := range q.folders {
		q.style[folder] = q.IntN(5)
	}
	return q
}

// oddly reports whether an oddity comes that comes once in n transactions of a wild history.
func (q *queues) oddly(n int) bool { return q.IntN(n*q.rare) == 0 }

// one is one of several, chosen at random.
func one[T any](q *queues, of ...T) T { return of[q.IntN(len(of))] }

// existing is one of the znodes that fit, or "".
func (q *queues) existing(fits func(path string) bool) string {
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(q.nodes)), func(path string) bool { return !fits(path) })
	if len(all) == 0 {
		return ""
	}
	return one(q, all...)
}

func (q *queues) create(path, data string, owner int64) txnlog.Change {
	for up := znode.Parent(path); up != "/" && up != ""; up = znode.Parent(up) {
		if _, is := q.nodes[up]; !is {
			return q.create(up, "", 0) // the parent first
		}
	}
	q.nodes[path] = owner
	return txnlog.Change{Type: txnlog.TypeCreate, Path: path, Data: []byte(data), Owner: txnlog.Owner(owner)}
}

func (q *queues) delete(path string) txnlog.Change {
	delete(q.nodes, path)
	return txnlog.Change{Type: txnlog.TypeDelete, Path: path}
}

// contender is the name of a new contender.
func (q *queues) contender(folder string, owner int64) string {
	style := q.style[folder]
	if q.oddly(12) {
		style = q.IntN(9)
	}
	if q.oddly(60) {
		q.style[folder] = q.IntN(9)
	}
	id := fmt.Sprintf("_c_%08x-0000-4000-8000-%012d-", q.IntN(20), q.IntN(3))
	hexID := fmt.Sprintf("%032x", q.IntN(20))
	n := q.seq[folder]
	if q.seq[folder]++; q.oddly(25) {
		n = max(0, n-q.IntN(3))
	}
	name := []string{
		id + lockformat.CuratorMutex, id + lockformat.CuratorMutex, id + lockformat.CuratorLatch, hexID + lockformat.KazooLock,
		id + one(q, lockformat.CuratorRead, lockformat.CuratorRead, lockformat.CuratorWrite), one(q, "_c_"+hexID+"-", "x-", "") + lockformat.CuratorMutex,
		hexID + one(q, lockformat.KazooRead, lockformat.KazooLock), id + "2-" + lockformat.Permit,
		one(q, fmt.Sprintf("x-%d-", owner), "c_", id+"7.3-"+lockformat.CuratorLatch),
	}[style]
	return fmt.Sprintf("%s%010d", name, n)
}

// changes are those of the next transaction.
func (q *queues) changes(session int64) []txnlog.Change {
	folder := one(q, q.folders...)
	below := func(path string) bool { return strings.HasPrefix(path, folder+"/") && q.nodes[path] != 0 }
	n := q.IntN(80)
	if q.oddly(1) {
		n = q.IntN(100)
	}
	switch {
	case n < 45:
		owner := session
		if q.oddly(30) {
			owner = 0
		}
		data := one(q, "host:1", "host:2", fmt.Sprint("host:", session), "", `{"id":"me"}`)
		if q.oddly(6) {
			data = lockformat.RevokeData
		}
		return []txnlog.Change{q.create(folder+"/"+q.contender(folder, session), data, owner)}
	case n < 80:
		if path := q.existing(below); path != "" {
			out := []txnlog.Change{q.delete(path)}
			if !q.oddly(4) {
				return out
			}
			switch q.IntN(3) {
			case 0: // a downgrade, or the like
				out = append(out, q.create(folder+"/"+q.contender(folder, session), "host:3", session))
			case 1:
				out = append(out, q.create(folder+lockformat.BreaksSuffix+"/1", "x", 0))
			case 2:
				if other := q.existing(below); other != "" {
					out = append(out, q.delete(other))
				}
			}
			return out
		}
	case n < 88:
		if path := q.existing(func(string) bool { return true }); path != "" {
			data := one(q, "", "host:9", lockformat.RevokeData, "3", `{"format":1}`, `{"name":"d","id":"1"}`)
			return []txnlog.Change{{Type: txnlog.TypeSetData, Path: path, Data: []byte(data), Version: int32(q.zxid)}} //nolint:gosec // small
		}
	case n < 95:
		at := one(q, folder+one(q, lockformat.DelaySuffix, lockformat.RoomSuffix, lockformat.RankSuffix, lockformat.BreaksSuffix, lockformat.ProclaimedSuffix, "-__lock__"),
			znode.Parent(folder)+one(q, "/leases", "/entries", "/ready", "/config", "/taken", "/dull"), folder+one(q, "/config", "/leases", "/1234567890ab4def"))
		at = strings.Replace(at, "//", "/", 1)
		if _, is := q.nodes[at]; is && q.IntN(2) == 0 && q.existing(func(path string) bool { return strings.HasPrefix(path, at+"/") }) == "" {
			return []txnlog.Change{q.delete(at)}
		}
		if q.IntN(3) == 0 {
			name := q.contender(folder, session)
			if strings.HasSuffix(at, "/leases") {
				name = fmt.Sprintf("_c_%08x-0000-4000-8000-%012d-%s%010d", q.IntN(20), 1, lockformat.CuratorLease, q.zxid)
			}
			at += "/" + name
			return []txnlog.Change{q.create(at, "host:4", session)}
		}
		return []txnlog.Change{q.create(at, one(q, "", "x", "5", `{"format":1,"until":"2023-11-14T22:14:00Z"}`), 0)}
	default:
		if _, is := q.nodes[folder]; is && q.existing(func(path string) bool { return strings.HasPrefix(path, folder+"/") }) == "" {
			return []txnlog.Change{q.delete(folder)}
		}
	}
	return nil
}

// Next is the next transaction.
func (q *queues) Next() (*txnlog.Txn, error) {
	if q.zxid == length {
		return nil, io.EOF
	}
	q.zxid++
	session := 1 + q.Int64N(6)
	txn := &txnlog.Txn{Zxid: q.zxid, Session: session, Cxid: int32(q.IntN(3)), Type: txnlog.TypeCreate, Time: time.UnixMilli(1_700_000_000_000 + 700*int64(q.zxid))} //nolint:gosec // small
	if q.IntN(30) == 0 {
		txn.Type, txn.Changes = txnlog.TypeCloseSession, []txnlog.Change{{Type: txnlog.TypeCloseSession}}
		maps.DeleteFunc(q.nodes, func(_ string, owner int64) bool { return owner == session })
		return txn, nil
	}
	txn.Changes = q.changes(session)
	return txn, nil
}

func (q *queues) Progress() (done, total int64) { return 0, 0 }

func (q *queues) Close() error { return nil }

// told are the events of the queues, one in each line, and the number of transactions without a
// recognition.
func (q *queues) told(t *testing.T, whole bool) (events []string, lines int) {
	t.Helper()
	note := func(what string) func(*Stay) {
		return func(s *Stay) {
			text, err := json.Marshal(s)
			require.NoError(t, err)
			events = append(events, what+" "+string(text))
		}
	}
	audit := NewAuditor(func(s Suspicion) { events = append(events, fmt.Sprintf("found %+v", s)) })
	r := newReader("/", &Options{Began: note("began"), Granted: note("granted"), Ended: note("ended"), Thing: audit.Thing, whole: whole})
	r.source = q
	_, err := r.Run(t.Context())
	require.NoError(t, err)
	return events, r.lines.told
}

// Lines tell what a recognition of each transaction tells.
func TestLinesTellWhatRecognitionTells(t *testing.T) {
	const histories = 100
	lines, events := 0, 0
	for seed := range uint64(histories) {
		want, none := newQueues(seed).told(t, true)
		require.Zero(t, none)
		got, some := newQueues(seed).told(t, false)
		require.Equal(t, want, got, "seed %d", seed)
		lines, events = lines+some, events+len(want)
	}
	t.Logf("%d events, %d of %d transactions without a recognition", events, lines, histories*length)
	require.Greater(t, lines, histories*length/5)
}
