package recognize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// recognized has nodes and the expected things.
type recognized struct {
	name  string
	lines []string
	want  string
}

func check(t *testing.T, cases []recognized) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, brief(look(Past{}, c.lines...))) })
	}
}

func TestLocks(t *testing.T) {
	place := func(n int, name, id string) string {
		return fmt.Sprintf("/l.waiting/place-%010d e%d =hex:%x", n, n, name+"\n"+id)
	}
	lk := func(n, seq int) string { return fmt.Sprintf("_c_%s-lock-%010d", uuid(n), seq) }
	check(t, []recognized{
		{"ours, Curator's", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l/" + lk(2, 9) + " e2 =bob", "/l/" + lk(3, 12) + " e3"}, "mutex? /l: held by ann, 2 wait\n"},
		{"numbers decide, not names", []string{"/l/" + lk(9, 1) + " e1 =ann", "/l/" + lk(1, 2) + " e2 =bob"}, "mutex? /l: held by ann, 1 waits\n"},
		{"go-zookeeper's", []string{"/l/_c_" + hexID(1) + "-lock-0000000003 e1"}, "mutex /l: held by 0x1\n"},
		{"Kazoo's", []string{"/l/" + hexID(1) + "__lock__0000000003 e1 =py"}, "mutex? /l: held by py\n"},
		{"mixed", []string{"/l/" + hexID(1) + "__lock__0000000003 e1 =py", "/l/" + lk(1, 4) + " e2 =java"},
			"mutex? /l: held by py, 1 waits\n  warn: Curator's and Kazoo's names are mixed: Curator sorts Kazoo's names wrongly, and Kazoo observes Curator's names only if configured to\n"},
		{"a mutex and a semaphore's permit", []string{"/l =2", "/l/" + lk(1, 7) + " e1 =ann", "/l/_c_" + uuid(2) + "-1-permit-0000000008 e2 =bob"},
			"semaphore /l: 1 of 2 permits free\n  warn: the path also has contenders of another recipe (lock): the two recipes do not exclude each other, and both may hold at the same time\n"},
		{"a read/write lock and a mutex", []string{"/l/_c_" + uuid(1) + "-__WRIT__0000000001 e1 =w", "/l/" + lk(2, 2) + " e2 =ann"},
			"read/write lock /l: written by w\n  warn: the path also has contenders of another recipe (lock): the two recipes do not exclude each other, and both may hold at the same time\n"},
		{"strangers do not count", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l/config =x"}, "mutex? /l: held by ann\n"},
		{"not readable", []string{"/l/" + lk(1, 7) + " denied", "/l/" + lk(2, 8) + " e1 =bob"}, "mutex? /l: held by unknown, 1 waits\n"},
		{"a name of no library, persistent", []string{"/l/deadlock-0000000001", "/l/x-lock-0000000002"}, ""},
		{"a name of no library", []string{"/l/lock-0000000001 e1 =ann", "/l/lock-0000000002"},
			"mutex? /l: held by ann, 1 waits\n  bad: orphan: unknown is not ephemeral, so no end of a session removes it\n"},
		{"ZooKeeper's own", []string{"/l/x-17-0000000001 e17 =hex:1234", "/l/x--18-0000000003 e-18 =hex:1234"}, "mutex /l: held by 0x11, 1 waits\n"},
		{"ZooKeeper's own, of another session", []string{"/l/x-17-0000000001 e18"}, "group? /l: 1 member\n"},
		{"no number", []string{"/l/_c_" + uuid(1) + "-lock-000000001 =x"}, ""},
		{"readers, a writer, a reader", []string{
			"/l/_c_" + uuid(1) + "-__READ__0000000001 e1 =r1", "/l/_c_" + uuid(2) + "-__READ__0000000002 e2 =r2",
			"/l/_c_" + uuid(3) + "-__WRIT__0000000003 e3 =w", "/l/_c_" + uuid(4) + "-__READ__0000000004 e4 =r3",
		}, "read/write lock /l: read by r1, r2, 2 wait\n"},
		{"a writer", []string{"/l/_c_" + uuid(3) + "-__WRIT__0000000003 e3 =w", "/l/_c_" + uuid(4) + "-__READ__0000000004 e4 =r3"}, "read/write lock /l: written by w, 1 waits\n"},
		{"Kazoo's reader and writer", []string{"/l/" + hexID(1) + "__rlock__0000000001 e1 =r", "/l/" + hexID(2) + "__lock__0000000002 e2 =w"}, "read/write lock /l: read by r, 1 waits\n"},
		{"permits", []string{
			"/s =4", "/s/_c_" + uuid(1) + "-1-permit-0000000001 e1 =a", "/s/_c_" + uuid(2) + "-2-permit-0000000002 e2 =b",
			"/s/_c_" + uuid(3) + "-2-permit-0000000003 e3 =c", "/s/_c_" + uuid(4) + "-1-permit-0000000004 e4 =d",
		}, "semaphore /s: 1 of 4 permits free, 2 wait\n"},
		{"an unknown number of permits", []string{"/s/_c_" + uuid(1) + "-1-permit-0000000001 e1 =a", "/s/_c_" + uuid(2) + "-1-permit-0000000002 e2 =b"},
			"semaphore /s: held by a, perhaps by 1 other too\n  warn: the path does not have the number of permits\n"},
		{"permits in a spelling that the semaphore refuses", []string{"/s =05", "/s/_c_" + uuid(1) + "-1-permit-0000000001 e1 =a"},
			"semaphore /s: held by a\n  warn: the path does not have the number of permits\n"},
		{"Curator's semaphore", []string{
			"/s/leases/_c_" + uuid(1) + "-lease-0000000001 e1 =a", "/s/leases/_c_" + uuid(2) + "-lease-0000000002 e2 =b",
			"/s/locks/_c_" + uuid(3) + "-lock-0000000009 e3 =c", "/s/leases/odd =x",
		}, "semaphore /s: 2 permits are held, 1 waits\n  warn: 1 child of leases is not a lease: Curator counts a permit for each\n"},
		{"contenders outside, one of which is in the queue again", []string{
			"/l/" + lk(1, 7) + " e1 =ann", "/l/" + lk(2, 9) + " e2 =bob", "/l.waiting", place(1, "_c_"+uuid(2)+"-lock-", "bob"),
			place(3, "_c_"+uuid(3)+"-lock-", "cid"), place(4, "_c_"+uuid(4)+"-lock-", "dot"), "/l.waiting/stranger =x",
		}, "mutex? /l: held by ann, 3 wait\n"},
		{"contenders outside with two znodes, one of which is being deleted", []string{
			"/l/" + lk(1, 7) + " e1 =ann", "/l/" + lk(2, 9) + " e2 =bob", "/l.waiting", place(1, "_c_"+uuid(2)[:18]+"-8000-000000000001-lock-", "bob"),
			place(3, "_c_"+uuid(3)+"-lock-", "cid"), place(4, "_c_"+uuid(3)+"-lock-", "cid"),
		}, "mutex? /l: held by ann, 2 wait\n"},
		{"broken before", []string{
			"/l/" + lk(1, 7) + " e1 =ann", "/l.breaks", `/l.breaks/0000000000000011 ={"format":1,"holder":"bob","token":17,"by":"op","reason":"hangs"}`,
			"/l.breaks/0000000000000012 =garbage", `/l.breaks/0000000000000013 ={"format":1,"holder":"bob","token":17,"by":"op","reason":"hangs"}`,
		}, "mutex? /l: held by ann\n"},
		{"a lock delay, lost", []string{"/l.delay =held 17"},
			"mutex /l: free, but the last holder did not release it\n  hint: the last holder (token 17) was lost, and did not release the lock: clients with a lock delay wait for the delay\n"},
		{"a lock delay, held", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l.delay =held 100"}, "mutex /l: held by ann\n"},
		{"a lock delay, waiting", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l.delay =held 99"},
			"mutex /l: ann is next, perhaps waiting for the lock delay\n  hint: the last holder (token 99) was lost, and did not release the lock: clients with a lock delay wait for the delay\n"},
		{"a lock delay, just written", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l.delay new =held 99"}, "mutex /l: ann is next, perhaps waiting for the lock delay\n"},
		{"a lock delay, just granted", []string{"/l/" + lk(1, 7) + " e1 new =ann", "/l.delay =held 99"}, "mutex /l: ann is next, perhaps waiting for the lock delay\n"},
		{"a lock delay, waiting, with others", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l/" + lk(2, 8) + " e2 =bob", "/l.delay new =held 99"}, "mutex /l: ann is next, perhaps waiting for the lock delay, 1 waits behind\n"},
		{"a lock delay, released", []string{"/l/" + lk(1, 7) + " e1 =ann", "/l.delay =free 99"}, "mutex /l: held by ann\n"},
		{"a lock delay, and an unreadable holder", []string{"/l/" + lk(1, 7) + " denied", "/l.delay =held 99"}, "mutex /l: held by unknown\n"},
		{"a lock delay, and an unreadable path", []string{"/l denied", "/l.delay =held 99"}, ""},
		{"a lock delay, without a contender, just written", []string{"/l.delay new =held 99"}, "mutex /l: held a moment ago\n"},
		{"a lock delay, free", []string{"/l.delay =free 17"}, "mutex /l: free\n"},
		{"something beside a lock", []string{"/l.delay =a while"}, ""},
	})
}

// TestLockDelayNodeDatesTheHold: the holder notes its hold beside the lock. A contender
// that waits for the end of the delay holds nothing.
func TestLockDelayNodeDatesTheHold(t *testing.T) {
	lines := []string{"/l/_c_" + uuid(1) + "-lock-0000000007 e1 =ann", "/l.delay new =held 100"}
	held := look(Past{}, lines...).Things[0].Queue[0]
	require.True(t, held.Holds)
	require.Equal(t, noon.Add(-time.Second), held.Since.UTC())
	lines[1] = "/l.delay new =held 99"
	held = look(Past{}, lines...).Things[0].Queue[0]
	require.False(t, held.Holds)
	require.Zero(t, held.Since)
}

// The records beside a lock tell who has taken it away; other znodes there tell nothing.
func TestBreaksOfALock(t *testing.T) {
	record := `={"format":1,"holder":"bob","token":17,"by":"op","reason":"hangs"}`
	w := look(Past{}, "/l/_c_"+uuid(1)+"-latch-0000000007 e1 =ann", "/l.breaks/0000000000000011 "+record,
		"/l.breaks/0000000000000013 "+record, "/l.breaks/x =garbage")
	require.Len(t, w.Things, 1)
	require.Equal(t, Election, w.Things[0].Kind)
	require.Len(t, w.Things[0].Breaks, 1)
	b := w.Things[0].Breaks[0]
	require.Equal(t, Break{At: b.At, By: "op", Reason: "hangs", Holder: "bob", Token: 17}, b)
	require.NotZero(t, b.At)
}

// The value is that of the leader's own znode, and none of a former leader's.
func TestProclaimedValueOfAnElection(t *testing.T) {
	name := func(n int) string { return fmt.Sprintf("_c_%s-latch-%010d", uuid(n), n) }
	w := look(Past{}, "/l/"+name(7)+" e1 =ann", "/l/"+name(8)+" e2 =bob", "/l.proclaimed/"+name(6)+" e3 =old",
		"/l.proclaimed/"+name(7)+" e1 =new", "/l.proclaimed/"+name(8)+" e2 =early", "/l.proclaimed/x =garbage")
	require.Len(t, w.Things, 1)
	require.Equal(t, "new", *w.Things[0].Queue[0].Value)
	require.Nil(t, w.Things[0].Queue[1].Value)
	require.Nil(t, look(Past{}, "/l/"+name(7)+" e1 =ann", "/l.proclaimed/"+name(6)+" e3 =old").Things[0].Queue[0].Value)
	require.Empty(t, *look(Past{}, "/l/"+name(7)+" e1 =ann", "/l.proclaimed/"+name(7)+" e1").Things[0].Queue[0].Value)
}

// Candidates with a priority wait in their order, unless they are in the queue.
func TestRankedCandidatesOfAnElection(t *testing.T) {
	place := func(n, priority int) string {
		return fmt.Sprintf("/l.ranked/_c_%s-%d-rank-%010d", uuid(n), priority, n)
	}
	w := look(Past{}, fmt.Sprintf("/l/_c_%s-7.1-latch-0000000003 e1 =ann", uuid(11)), fmt.Sprintf("/l/_c_%s-2.2-latch-0000000004 e2 =bob", uuid(12)),
		place(2, 2)+" e2 =bob", place(3, 2)+" e3 =cid", place(4, 9)+" e4 =dot", place(5, 2)+" e2 =eve", "/l.ranked/x =garbage")
	require.Len(t, w.Things, 1)
	require.Empty(t, w.Things[0].Guess)
	var got []string
	for _, c := range w.Things[0].Queue {
		got = append(got, fmt.Sprint(c.ID, " ", c.Priority, " ", c.Holds, " ", c.Outside))
	}
	require.Equal(t, []string{"ann 7 true false", "bob 2 false false", "dot 9 false true", "cid 2 false true", "eve 2 false true"}, got)
	require.Equal(t, "led by ann, 4 candidates behind", w.Things[0].State)
}

// TestUnreadableContenderHasOnlyItsName: all other fields are unknown.
func TestUnreadableContenderHasOnlyItsName(t *testing.T) {
	c := look(Past{}, "/l/_c_"+uuid(1)+"-lock-0000000007 denied", "/l/_c_"+uuid(2)+"-lock-0000000008 e1").Things[0].Queue[0]
	require.True(t, c.Denied)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(text), "token")
	require.NotContains(t, string(text), "entered")
}

func TestElections(t *testing.T) {
	check(t, []recognized{
		{"LeaderLatch", []string{"/e/_c_" + uuid(1) + "-latch-0000000004 e1 =ann", "/e/_c_" + uuid(2) + "-latch-0000000005 e2 =bob"}, "election /e: led by ann, 1 candidate behind\n"},
		{"a candidate without an id", []string{"/e/_c_" + uuid(1) + "-latch-0000000004 e31"}, "election /e: led by 0x1f\n"},
		{"by the book", []string{"/election/c_0000000012 e1 =10.0.0.1:80", "/election/c_0000000014 e2 =10.0.0.2:80"}, "election? /election: led by 10.0.0.1:80, 1 candidate behind\n"},
		{"with a record", []string{`/e/_c_` + uuid(1) + `-latch-0000000004 e1 ={"format":1,"id":"consumer-1"}`}, "election /e: led by consumer-1\n"},
	})
}

func TestBarriers(t *testing.T) {
	party := func(n, seq int, id string) string { return fmt.Sprintf("/b/_c_%s-%s-party-%010d", uuid(n), id, seq) }
	record := func(kind string, czxid int, released string) string {
		return fmt.Sprintf(`/b ={"kind":%q,"czxid":%d,"parties":3,"round":2,"released":%q}`, kind, czxid, released)
	}
	check(t, []recognized{
		{"waiting", []string{record("barrier", 100, "0-5"), party(1, 6, "ann-1") + " e1", party(2, 7, "bob") + " e2", "/b.passed =2 x"}, "barrier /b: 2 of 3 are here\n"},
		{"no party", []string{record("barrier", 100, "0-5")}, "barrier /b: 0 of 3 are here\n"},
		{"the first round", []string{party(1, 0, "ann") + " e1"}, "barrier /b: 1 waits\n"},
		{"the same twice", []string{record("barrier", 100, "0-5"), party(1, 6, "ann") + " e1", party(2, 7, "ann") + " e1"},
			"barrier /b: 1 of 3 are here\n  hint: ann has two znodes, and counts once\n"},
		{"inside", []string{record("double", 100, "3-5"), party(1, 3, "ann") + " e1", party(2, 5, "bob") + " e2", party(3, 6, "cy") + " e3"}, "double barrier /b: 2 are inside, 1 of 3 are here\n"},
		{"a copied record", []string{record("double", 7, "3-5"), party(1, 3, "ann") + " e1"},
			"double barrier /b: 1 of 3 are here\n  hint: its record was written for another path, and is ignored\n"},
		{"Curator's double barrier", []string{"/b/ready", "/b/" + uuid(1) + " e1", "/b/" + uuid(2) + " e2"}, "double barrier /b: 2 are inside\n"},
		{"Curator's double barrier, not ready", []string{"/double/barrier-7/" + uuid(1) + " e1", "/double/barrier-7/" + uuid(2) + " e2"}, "double barrier? /double/barrier-7: 2 come or leave\n"},
		{"Kazoo's double barrier, not ready", []string{"/barriers/x/" + hexID(1) + " e1 =ann"}, "double barrier? /barriers/x: 1 comes or leaves\n"},
		{"UUIDs of any program", []string{"/b/" + uuid(1) + " e1", "/b/" + uuid(2) + " e2"}, "group? /b: 2 members\n"},
		{"ready alone may be of any program", []string{"/b/ready"}, ""},
		{"ready beside others may be of any program", []string{"/app/ready", "/app/port =8080", "/app/config/" + uuid(1)}, ""},
		{"a gate", []string{"/app/upgrade-gate", "/app/gates/open", "/barriers", "/gate-keeper", "/barrier =127.0.0.1", "/a/gate =open", "/b/gate =10.0.0.1:8080", "/c/gate =web-1.example.org:4711", "/d/gate =::1", "/e/gate =a/b:1", "/f/gate e1"}, "gate? /app/upgrade-gate: closed\ngate? /barrier: closed\ngate? /c/gate: closed\ngate? /d/gate: closed\ngroup? /f: 1 member\n"},
		{"no gate", []string{"/app/gates/upgrade e1", "/delegates/x"}, "group? /app/gates: 1 member\n"},
	})
}

func TestCounters(t *testing.T) {
	mark := func(n int) string { return "/c/_c_" + uuid(n) + "-writer e1" }
	latch := "/c/_c_" + uuid(9) + "-countdown e1"
	check(t, []recognized{
		{"long", []string{"/counters/c =hex:fffffffffffffd1b", "/c =hex:fffffffffffffd1b"}, "counter? /counters/c: -741\n"},
		{"int", []string{"/order-counter =hex:00000007", "/port =hex:00000050"}, "counter? /order-counter: 7\n"},
		{"text", []string{"/a/orderCounter =-42", "/a/port =8080", "/a/counter-size =3"}, "counter? /a/orderCounter: -42\n"},
		{"words are not numbers", []string{"/counters/c =password", "/counters/d =pass", "/counters/e =1.2.3.4", "/counters/f"}, ""},
		{"too big for a number", []string{"/counter =9999999999999999999"}, ""},
		{"text that a counter refuses", []string{"/counter =007", "/c =007", mark(1), "/d =-0", "/d" + mark(2)[2:]},
			"counter /c: not readable\n  bad: its 3 bytes are not a number in any format of a counter\n" +
				"counter /d: not readable\n  bad: its 2 bytes are not a number in any format of a counter\n"},
		{"written now", []string{"/c =hex:0000000000000010", mark(1), mark(2)}, "counter /c: 16\n"},
		{"new", []string{"/c", mark(1)}, "counter /c: 0\n"},
		{"broken", []string{"/c =abc", mark(1)}, "counter /c: not readable\n  bad: its 3 bytes are not a number in any format of a counter\n"},
		{"of letters", []string{"/c =ABCD", mark(1), "/d =ABCDEFGH", "/d" + mark(1)[2:], "/e =12345678", "/e" + mark(1)[2:], "/counters/c =ABCD"}, "counter /c: 1094861636\ncounter /d: 4702394921427289928\ncounter /e: 12345678\n"},
		{"beside one", []string{"/a/c =hex:0000000000000010", "/a/" + mark(1)[1:], "/a/d =hex:0000000000000011", "/a/port =8080", "/a/e =hex:00000011"},
			"counter /a/c: 16\ncounter? /a/d: 17\n"},
		{"set often", []string{"/a v99 =8080", "/b v100 =8080", "/c v100 =words"}, "counter? /b: 8080\n"},
		{"a folder", []string{"/counter =5", "/counter/x =y"}, ""},
		{"a persistent mark does not count", []string{"/x =5", "/x/_c_" + uuid(1) + "-writer"}, ""},
		{"a latch", []string{"/c =hex:0000000200000003", latch, "/d =hex:0000000100000000", "/d" + latch[2:], "/e", "/e" + latch[2:], "/counters/c =hex:0000000200000003"},
			"counter /c: 3 left in round 2\ncounter? /counters/c: 8589934595\ncounter /d: 0: round 1 is over\ncounter /e: 0: its count was never set\n"},
		{"a broken latch", []string{"/c =hex:0000000280000003", latch, "/d =hex:0000000000000005", "/d" + latch[2:]},
			"counter /c: not readable\n  bad: its 8 bytes are not the round and the count of a latch\n" +
				"counter /d: not readable\n  bad: its 8 bytes are not the round and the count of a latch\n"},
		{"beside a latch", []string{"/a/c =hex:0000000200000003", "/a/" + latch[1:], "/a/d =hex:0000000000000011"}, "counter /a/c: 3 left in round 2\n"},
		{"an ephemeral number does not count", []string{"/x/c e1 =5"}, "group? /x: 1 member\n"},
	})
}

func TestValues(t *testing.T) {
	mark := func(n int) string { return "/v/_c_" + uuid(n) + "-value e1" }
	check(t, []recognized{
		{"bytes", []string{"/v =hello", mark(1), mark(2)}, "value /v: 5 bytes\n"},
		{"no bytes", []string{"/v", mark(1)}, "value /v: 0 bytes\n"},
		{"a number", []string{"/counters/v =42", "/counters" + mark(1)}, "value /counters/v: 2 bytes\n"},
		{"another child", []string{"/v =a", mark(1), "/v/port =8080"}, "value /v: 1 byte\n"},
		{"without a writer", []string{"/v =hello"}, ""},
		{"a persistent mark, and one with data", []string{"/v =hello", "/v/_c_" + uuid(1) + "-value", "/w/_c_" + uuid(1) + "-value =x"}, ""},
		{"written as a number, too", []string{"/v =42", mark(1), "/v/_c_" + uuid(2) + "-writer e2"}, "counter /v: 42\n"},
	})
}

// No sign tells the kept znodes of package node from others: a child "touch" may be of any
// program, and the servers do not tell clients that a znode has a TTL. Without guesses,
// persistent ones are plain, and ephemeral ones are members of their folder.
func TestKeptZnodesAreNoKindOfTheirOwn(t *testing.T) {
	name := func(n int) string { return "/k/_c_" + uuid(n) + "-gateway-000000000" }
	check(t, []recognized{
		{"with a TTL", []string{"/k/nightly =host", "/k/nightly/touch v5"}, ""},
		{"with a TTL, of Curator", []string{"/k/nightly =host", "/k/nightly/touch v5 =10.0.0.1"}, ""},
		{"ephemeral", []string{"/k/eu e1 =10.0.0.7:80"}, "group? /k: 1 member\n"},
		{"sequential", []string{name(1) + "1 e1", name(2) + "2 e2"}, "group? /k: 2 members\n"},
		{"sequential and persistent", []string{name(1) + "1", name(2) + "2", name(2) + "2/touch v5"}, ""},
		{"beside a lock", []string{"/k/_c_" + uuid(1) + "-lock-0000000001 e1", name(2) + "2"}, "mutex? /k: held by 0x1\n"},
	})
}

func TestTablesAndMarkers(t *testing.T) {
	owner := "_c_" + uuid(1) + "-owner"
	check(t, []recognized{
		{"a table", []string{`/t/a ={"format":1,"client":"` + owner + `"}`, `/t/b ={"format":1}`, `/t/c ={"format":1,"client":"_c_` + uuid(2) + `-owner"}`, "/t.owners/" + owner + " e1"}, "mutex /t: 1 of 3 locks are held\n"},
		{"a lock of a newer version", []string{`/t/a ={"format":1,"client":"` + owner + `"}`, `/t/b ={"format":2}`, "/t.owners/" + owner + " e1"},
			"mutex /t: 1 of 1 lock is held\n  warn: 1 lock has a format of a newer version (update zkr)\n"},
		{"JSON of a stranger", []string{`/t/a ={"format":1}`, "/u/b", `/v/a ={"client":"x"}`}, ""},
		{"markers", []string{"/m/_c_" + uuid(1) + "-marker e1", "/m/_c_" + uuid(2) + "-marker e2 v7", "/m/config =x"}, "group /m: 2 markers of sessions that write\n"},
		{"a persistent marker does not count", []string{"/m/_c_" + uuid(1) + "-marker"}, ""},
	})
}

func TestSharedHeartbeats(t *testing.T) {
	check(t, []recognized{
		{"two servers", []string{"/h/server-1 v7 =1 1000a5c3f2b0001 2a7:812", "/h/server-2 =1 2000a5c3f2b0001"}, "group /h: 2 servers, whose sessions share heartbeats\n"},
		{"one of them without a heartbeat yet", []string{"/h/server-1 =1 1 2a7:812", "/h/server-2", "/h/note =x"}, "group /h: 2 servers, whose sessions share heartbeats\n"},
		{"garbage", []string{"/h/server-1 =1 1 2a7:812", "/h/server-2 =2 1 2a7:812"},
			"group /h: 2 servers, whose sessions share heartbeats\n  warn: the heartbeat of server-2 cannot be read: its sessions send heartbeats of their own\n"},
		{"servers of a stranger", []string{"/h/server-1 =10.0.0.1", "/h/server-2"}, ""},
	})
	w := look(Past{}, "/h/server-7 v41 =1 7000a5c3f2b0001 2a7:812")
	require.Equal(t, Member{Path: "/h/server-7", ID: "server-7", Session: 0x7000a5c3f2b0001, Since: w.Things[0].Members[0].Since, Data: "heartbeat 41, at 11:58:59 on 2026-01-02"}, w.Things[0].Members[0])
}

func TestMembers(t *testing.T) {
	check(t, []recognized{
		{"GroupMember", []string{"/g/ann e1 =x", "/g/bob e2"}, "group? /g: 2 members\n"},
		{"Party", []string{"/g/" + hexID(1) + "__party__ e1 =ann", "/g/" + hexID(2) + "__party__0000000001 e2 =bob"}, "group /g: 2 members\n"},
		{"ShallowParty", []string{"/g/" + hexID(1) + "-ann e1"}, "group /g: 1 member\n"},
		{"a registry by the book", []string{"/workers/n_0000000003 e1 =10.0.0.1:8081"}, "group? /workers: 1 member\n"},
		{"a service", []string{
			`/s/web/i1 e1 ={"name":"web","id":"i1","address":"h","port":80,"sslPort":null,"payload":null,"registrationTimeUTC":1,"serviceType":"DYNAMIC","uriSpec":null}`,
			`/s/web/i2 e2 ={"name":"web","id":"i2","address":null,"port":null,"sslPort":443,"payload":{"w":1},"registrationTimeUTC":1,"serviceType":"STATIC","uriSpec":null,"enabled":false}`,
			`/s/web/odd =x`, `/s/web/secret denied`,
		}, "service /s/web: 4 instances, 2 not usable, 1 not readable\n  warn: instance odd: its data is not an instance\n  warn: instance secret: it may not be read\n"},
		{"a service without instances to use", []string{
			`/s/web/i1 e1 ={"name":"web","id":"i1","registrationTimeUTC":1,"serviceType":"DYNAMIC","enabled":false}`,
		}, "service /s/web: 1 instance, 1 not usable\n  warn: no instance is usable\n"},
		{"a service without a known instance", []string{
			`/s/web/i1 e1 ={"name":"web","id":"i1","registrationTimeUTC":1,"serviceType":"DYNAMIC","enabled":false}`, `/s/web/i2 denied`,
		}, "service /s/web: 2 instances, 1 not usable, 1 not readable\n  warn: instance i2: it may not be read\n"},
		{"among others", []string{"/g/ann e1", "/g/config =x"}, ""},
		{"among others, Kazoo's", []string{"/g/" + hexID(1) + "__party__ e1 =ann", "/g/config =x"}, "group /g: 1 member\n"},
		{"JSON of a stranger", []string{`/s/web/i1 e1 ={"name":"other"}`}, "group? /s/web: 1 member\n"},
		{"Kazoo's queue", []string{"/q/entry-100-0000000001 =x", "/q/entry-100-0000000002 =y"}, "queue /q: 2 entries\n"},
		{"Kazoo's locking queue", []string{"/q/entries/entry-100-0000000001 =x", "/q/taken/entry-100-0000000001 e1"}, "queue /q: 1 entry, 1 of them taken\n"},
		{"Curator's queue", []string{"/q/qn-0000000001 =x"}, "queue /q: 1 entry\n"},
		{"Curator's packed queues", []string{"/p/queue-0000000001 =hex:0001000101", "/q/queue-0FFFFFFF90000000001 =hex:00010001", "/r/queue-|a-b|0000000001 =hex:00010001"}, "queue /p: 1 entry\nqueue /q: 1 entry\nqueue /r: 1 entry\n"},
		{"no queue", []string{"/p/queue-0000000001 =x", "/q/entry-1-0000000001", "/q/qn-1"}, ""},
		{"plain", []string{"/config =a: 1", "/config/db =b", `/json ={"a":1}`}, ""},
	})
	w := look(Past{}, "/g/"+hexID(1)+"__party__ e1 =ann", "/h/"+hexID(1)+"-bob-2 e1", "/i/n_0000000003 e1 =10.0.0.1:8081")
	for i, want := range []string{"ann", "bob-2", "10.0.0.1:8081"} {
		require.Equal(t, want, w.Things[i].Members[0].ID)
	}
}

func jobLines(state string) []string {
	const id = "12345678-90ab-4def-8234-567890abcdef"
	run := "/twister2/wc/1234567890ab4def"
	member := func(id, incarnation int, left bool) string {
		return fmt.Sprintf(`%s/members/%d ={"id":%d,"name":"w%d","incarnation":%d,"claim":%q,"left":%t,"addresses":["h:%d"]}`, run, id, id, id, incarnation, uuid(id), left, id)
	}
	live := func(id, incarnation int) string {
		return run + "/live/" + jobformat.Member{ID: id, Incarnation: int64(incarnation), Claim: uuid(id)}.Live()
	}
	return []string{
		`/twister2/wc ={"format":1,"id":"` + id + `","name":"wc","reuseIDs":false,"metadata":{"k":"v"},"created":"2026-01-02T11:00:00Z"}`,
		run + `/state =` + state, member(0, 1, false), member(1, 2, false), member(2, 1, true), member(10, 1, false),
		live(0, 1) + " e1", live(1, 1) + " e2", live(10, 1) + " e3", run + "/ids/w0 =0", run + "/phases/load",
		run + "/barriers/sort-4/_c_" + uuid(1) + "-0-party-0000000000 e1",
	}
}

func TestJobs(t *testing.T) {
	died := "  warn: worker 1 (w1) has died; the job waits for it to come back\n"
	at := "barrier /twister2/wc/1234567890ab4def/barriers/sort-4: 1 waits [of /twister2/wc]\n"
	check(t, []recognized{
		{"runs", jobLines(`{"state":"running","workers":6,"next":4,"left":1}`), "job /twister2/wc: 2 of 6 running, 1 dead, 1 left, 2 missing\n" + died + at},
		{"is over", jobLines(`{"state":"killed","workers":6,"next":6,"left":1}`), "job /twister2/wc: killed: 2 of 6 running, 1 dead, 1 left\n" + at},
		{"cannot be read", jobLines(`{"state":`), "job /twister2/wc: not readable\n  bad: the job's state cannot be read\n" + at},
		{"is removed", []string{`/twister2/.ended/wc-1234567890ab4def ={"format":1,"id":"` + uuid(1) + `","name":"wc","state":"failed","workers":4,"joined":4,"left":4,"failed":1,"created":"2026-01-02T11:00:00Z","ended":"2026-01-02T11:30:00Z"}`},
			"job /twister2/.ended/wc-1234567890ab4def: over: failed: 0 of 4 running, 1 failed, 3 left\n"},
		{"JSON of a stranger", []string{`/j ={"format":1,"id":"` + uuid(1) + `","name":"x","created":"2026-01-02T11:00:00Z"}`}, ""},
	})
	j := look(Past{}, jobLines(`{"state":"running","workers":6,"next":4,"left":1}`)...).Things[0].Job
	var ids []string
	for _, w := range j.Workers {
		ids = append(ids, fmt.Sprintf("%d %s %s", w.ID, w.State, w.Session))
	}
	require.Equal(t, []string{"0 running 0x1", "1 dead ", "2 left ", "10 running 0x3"}, ids, "workers of another incarnation are not alive; by number, not by name")
	require.Equal(t, []string{"load"}, j.Phases)
}

// TestSchedulesOfATaskQueue: the slots are those of dispatch, and garbage is named.
func TestSchedulesOfATaskQueue(t *testing.T) {
	lines := []string{
		`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", "/q/tasks",
		`/q/schedules/b ={"format":1,"name":"b","everyMs":3600000,"since":"2026-01-02T03:30:00Z","maxAttempts":1}`,
		`/q/schedules/a%2Fb ={"format":1,"name":"a/b","everyMs":60000,"start":"2026-01-02T03:00:30Z","maxAttempts":1}`,
		`/q/schedules/a%2Fb/last ={"format":1,"slot":"2126-01-02T03:04:30Z","task":"a/b@2126-01-02T03:04:30Z","skipped":"2126-01-02T03:06:30Z"}`,
		`/q/schedules/c =x`, `/q/schedules/d ={"format":1,"name":"d","everyMs":3600000,"maxAttempts":1}`, `/q/schedules/d/last =x`,
	}
	check(t, []recognized{{"schedules", lines, "task queue /q: 0 waiting, 0 assigned\n  warn: the record of a schedule cannot be read: no task is submitted\n" +
		"  warn: the record of the last slot of the schedule d cannot be read: no task is submitted\n"}})
	list := look(Past{}, lines...).Things[0].Tasks.Schedules
	require.Len(t, list, 3)
	minute := func(m, s int) time.Time { return time.Date(2126, 1, 2, 3, m, s, 0, time.UTC) }
	require.Equal(t, TaskSchedule{
		Path: "/q/schedules/a%2Fb", Name: "a/b", Every: "1m0s", Last: minute(4, 30), LastTask: "a/b@2126-01-02T03:04:30Z", Next: minute(7, 30),
	}, list[0])
	require.Equal(t, TaskSchedule{Path: "/q/schedules/b", Name: "b", Every: "1h0m0s", Next: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)}, list[1])
}

func TestTaskQueues(t *testing.T) {
	labeled := func(id string, labels ...string) string { return task(id, taskformat.Waiting, 1, labels...) }
	unmatched := func(n int) string {
		return fmt.Sprintf("  warn: 1 task waits for a worker with the label %d: no such worker is present\n", n)
	}
	lines := []string{
		`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", "/q/masters/_c_" + uuid(1) + "-latch-0000000001 e1 =m1",
		task("a", "waiting", 9), task("b", "waiting", 3), task("c", "assigned", 5), task("d", "done", 5), task("e", "dead", 5), task("f", "failed", 6),
		`/q/alive/w1~aa e2 ={"format":1,"name":"w1","concurrency":4,"labels":["gpu"]}`, "/q/workers/w1~aa/c~1-1", "/q/workers/w0~bb/x~1-1", "/q/data/0a/a~1 =payload",
	}
	check(t, []recognized{
		{"works", lines, "task queue /q: 2 waiting, 1 assigned, 1 done, 1 failed, 1 dead\n" +
			"  warn: worker w0 has gone, and still has 1 task\n  warn: 1 task is dead: all attempts have failed\nelection /q/masters: led by m1 [of /q]\n"},
		{"labels without any worker", append([]string{labeled("x", "gpu"), labeled("y", "big", "gpu"), labeled("z", "big", "gpu"), labeled("u", "eu")}, lines[:3]...),
			"task queue /q: 4 waiting, 0 assigned\n  warn: no worker is present: tasks wait\nelection /q/masters: led by m1 [of /q]\n"},
		{"labels that some workers have", append([]string{labeled("x", "gpu"), labeled("y", "big", "gpu"), labeled("z", "big", "gpu"), labeled("u", "eu"), lines[9]}, lines[:3]...),
			"task queue /q: 4 waiting, 0 assigned\n  warn: 2 tasks wait for a worker with the labels big, gpu: no such worker is present\n" +
				"  warn: 1 task waits for a worker with the label eu: no such worker is present\nelection /q/masters: led by m1 [of /q]\n"},
		{"many labels", append([]string{labeled("a", "1"), labeled("b", "2"), labeled("c", "3"), labeled("d", "4"), labeled("e", "5"), labeled("f", "6"), labeled("g", "7"), lines[9]}, lines[:3]...),
			"task queue /q: 7 waiting, 0 assigned\n" + unmatched(1) + unmatched(2) + unmatched(3) + unmatched(4) + unmatched(5) +
				"  warn: tasks wait for 2 more lists of labels that no worker has\nelection /q/masters: led by m1 [of /q]\n"},
		{"no master and no worker", []string{lines[0], lines[1], lines[3], "/q/masters"},
			"task queue /q: 1 waiting, 0 assigned\n  warn: no master is present: tasks are not assigned\n  warn: no worker is present: tasks wait\n"},
		{"closed, and broken", []string{lines[0], "/q/tasks/0a/x =?"},
			"task queue /q: 0 waiting, 0 assigned\n  bad: 1 task cannot be read\n  warn: the queue is full, or was not opened: it takes no more tasks\n"},
	})
	st := look(Past{}, lines...).Things[0].Tasks
	require.Equal(t, "m1", st.Master)
	require.Equal(t, 3, st.Oldest.Minute())
	require.Equal(t, "f", st.Trouble[0].ID, "the newest first")
	require.Len(t, st.Workers, 2)
}

// A task waits from when it could be assigned: a task with a delay, or after a failure, does not
// wait since its submission.
func TestTaskWaitsSinceItIsReady(t *testing.T) {
	record := func(id string, change func(*taskformat.Record)) string {
		r := taskformat.Record{Format: taskformat.Format, ID: id, Run: "0123456789abcdef", State: taskformat.Waiting, Attempt: 1, MaxAttempts: 2, Submitted: noon.Add(-24 * time.Hour)}
		change(&r)
		return fmt.Sprintf("/q/tasks/0a/%s =%s", id, taskformat.Encode(r))
	}
	again := record("again", func(r *taskformat.Record) { r.Attempt = 2 })
	later := record("later", func(r *taskformat.Record) { r.Delay = taskformat.ToMillis(time.Hour) })
	former := record("former", func(r *taskformat.Record) { r.NotBefore = noon.Add(time.Hour) })
	over := record("over", func(r *taskformat.Record) { r.NotBefore = noon.Add(-time.Hour) })
	written := -61 * time.Second // the last line of a tree
	for want, tasks := range map[time.Duration][]string{written: {later, again}, written + time.Hour: {later}, time.Hour: {former}, written - time.Second: {over, again}} {
		lines := append([]string{`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open"}, tasks...)
		st := look(Past{}, lines...).Things[0].Tasks
		require.Equal(t, want, st.WaitingSince.Sub(noon), "%q", tasks)
	}
}

// TestPauseOfATaskQueue: by whom, since when and why; a pause that was written by hand may have
// nothing of that.
func TestPauseOfATaskQueue(t *testing.T) {
	queue := func(pause string) []string {
		return []string{`/q/admission ={"format":1,"maxTasks":10,"paused":` + pause + `,"lastPause":"x"}`, "/q/admission/open", "/q/tasks"}
	}
	const paused = "task queue /q: paused: 0 waiting, 0 assigned\n  hint: the queue is paused by "
	long := strings.Repeat("x", 1024)
	check(t, []recognized{
		{"pause", queue(`{"by":"ann","reason":"migration","since":"2026-01-02T03:04:05Z","newer":1}`), paused + "ann since 2026-01-02 03:04:05Z: migration\n"},
		{"by hand", queue(`{}`), paused + "an unknown client: no reason was given\n"},
		{"strange texts", queue(`{"by":"\u001b[2J","reason":"a\nb"}`), paused + Text([]byte("\x1b[2J"), idWidth) + ": " + Text([]byte("a\nb"), 200) + "\n"},
		{"long texts", queue(`{"by":"` + long + `","reason":"` + long + `"}`), paused + Text([]byte(long), idWidth) + ": " + Text([]byte(long), 200) + "\n"},
		{"none", queue(`null`), "task queue /q: 0 waiting, 0 assigned\n"},
		{"garbage", queue(`true`), ""},
	})
}

func TestRebalancers(t *testing.T) {
	client := latch
	lines := func(mode string, more ...string) []string {
		return append([]string{
			fmt.Sprintf(`/g ={"format":1,"mode":%q}`, mode), `/g/epoch ={"epoch":4,"client":"x"}`,
			member(mode, 1, ""), member(mode, 2, "i2"),
			"/g/resources/a", "/g/resources/b", "/g/resources/c", "/g/resources/d",
			`/g/assignments/` + client(1) + ` ={"client":"` + client(1) + `","generation":5,"count":1,"resources":["a"]}`,
			`/g/assignments/i2 ={"client":"` + client(2) + `","generation":5,"count":2,"chunks":1,"resources":["b"]}`, `/g/assignments/i2/5-0 =["c"]`, `/g/assignments/i2/4-0 =["a"]`,
		}, more...)
	}
	owns := func(name string, n int) string { return `/g/barriers/` + name + ` ={"client":"` + client(n) + `"}` }
	// The shard of i2 is the difference to a base.
	difference := func(lines []string) []string {
		return append(lines[:len(lines)-3], `/g/assignments/i2 ={"format":2,"client":"`+client(2)+`","generation":5,"count":2,"chunks":1,"resources":["b"],"removed":["a"],"base":4,"baseEpoch":1}`,
			`/g/assignments/i2/5-0 =["d"]`, `/g/assignments/i2/4-0 =["a","c"]`)
	}
	election := "election /g/clients: led by c1, 1 candidate behind [of /g]\n"
	check(t, []recognized{
		{"moving, with a difference", append(difference(lines("resource")), owns("a", 1), owns("b", 1), "/g/barriers/c ={}"), "rebalancer /g: 4 resources shared by 2 members, 2 moves in progress\n  hint: 1 resource has no owner yet: d\n" + election},
		{"moving", lines("resource", owns("a", 1), owns("b", 1), "/g/barriers/c ={}"), "rebalancer /g: 4 resources shared by 2 members, 2 moves in progress\n  hint: 1 resource has no owner yet: d\n" + election},
		{"of a dead owner", lines("resource", owns("a", 9)), "rebalancer /g: 4 resources shared by 2 members, 3 moves in progress\n  hint: 1 resource has no owner yet: d\n" + election},
		{"global, stopping", lines("global", `/g/status ={"generation":6,"state":"stop"}`, "/g/stopped/"+client(2)+".6 e2"),
			"rebalancer /g: 4 resources shared by 2 members, generation 6: stop\n  hint: 1 resource has no owner yet: d\n" + election},
		{"global, at rest", lines("global", `/g/status ={"generation":6,"state":"confirmed"}`), "rebalancer /g: 4 resources shared by 2 members\n  hint: 1 resource has no owner yet: d\n" + election},
		{"paused", lines("resource", `/g/config ={"paused":true,"by":"ann"}`, owns("a", 1), owns("b", 2), owns("c", 2), owns("d", 2)),
			"rebalancer /g: paused: 4 resources shared by 2 members, 1 move in progress\n  hint: the group is paused by ann: no resource moves\n" + election},
		{"failing", lines("resource", `/g/failures/`+client(2)+` e2 ={"format":1,"count":2,"failures":[{"resource":"b","error":"no disk","failures":3}]}`, owns("a", 1), owns("b", 2), owns("c", 2), owns("d", 2)),
			"rebalancer /g: 4 resources shared by 2 members, 1 move in progress\n  warn: c2 retries 2 resources after failures, such as b: no disk\n" + election},
		{"empty", []string{`/g ={"format":1,"mode":"resource"}`, "/g/resources/a", "/g/assignments"}, "rebalancer /g: 1 resource shared by 0 members\n  warn: no member is present: the resources have no owner\n"},
	})
	subscribed := func(patterns string) []string {
		all := lines("resource", "/g/resources/e", owns("a", 1), owns("b", 2), owns("c", 2))
		all[2] = strings.Replace(member("resource", 1, ""), "{", `{"subscription":["a"],`, 1)
		all[3] = strings.Replace(member("resource", 2, "i2"), "{", `{"subscription":[`+patterns+`],`, 1)
		return all
	}
	check(t, []recognized{
		{"one is covered", subscribed(`"b","[cd]"`), "rebalancer /g: 5 resources shared by 2 members\n" +
			"  warn: no member subscribes to 1 resource: e\n  hint: 1 resource has no owner yet: d\n" + election},
		{"none is covered", subscribed(`"b","c"`), "rebalancer /g: 5 resources shared by 2 members\n  warn: no member subscribes to 2 resources: d, e\n" + election},
		{"all are covered", subscribed(``), "rebalancer /g: 5 resources shared by 2 members\n  hint: 2 resources have no owner yet: d, e\n" + election},
	})
	s := look(Past{}, lines("resource", owns("a", 1), owns("b", 1), owns("old", 2))...).Things[0].Shares
	require.Equal(t, map[string]Cell{"a": Owns, "b": Leaves}, s.Members[0].Cells)
	require.Equal(t, map[string]Cell{"b": Comes, "c": Comes, "old": Leaves}, s.Members[1].Cells)
	require.Equal(t, []string{"a", "b", "c", "d", "old"}, s.Resources)
	require.Equal(t, ShareMove{"b", "c1", "c2"}, s.Moves[0])
	require.True(t, s.Members[0].Coordinates)
	stopped := look(Past{}, lines("global", `/g/status ={"generation":6,"state":"stop"}`, "/g/stopped/"+client(2)+".6 e2")...).Things[0].Shares
	require.False(t, stopped.Members[0].Stopped)
	require.True(t, stopped.Members[1].Stopped)
}

// TestEverythingSaysHowItWasTold and is of exactly one kind.
func TestEverythingSaysHowItWasTold(t *testing.T) {
	w := look(Past{}, append(jobLines(`{"state":"running","workers":6,"next":4}`), "/c =5", "/g/ann e1", "/app/gate")...)
	require.NotEmpty(t, w.Things)
	for _, thing := range w.Things {
		require.NotEmpty(t, thing.How, thing.Path)
		require.False(t, strings.HasSuffix(thing.State, ", "))
	}
}
