package doctor_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// cons is the answer of a server with session 1, of which the server has not heard for silent,
// and session 2.
func cons(silent string) string {
	return " /10.0.0.1:5[1](queued=0,sid=0x1,est=1700000000000,to=6000,lresp=" + silent + ")\n" +
		" /[2001:db8::1]:6[1](queued=0,sid=0x2,est=1700000000000,to=6000,lresp=10000)\n /10.0.0.1:7[0](queued=0,recved=1,sent=0)\n"
}

func TestClientsAreNamedBySession(t *testing.T) {
	former, present := server(map[string]string{"cons": cons("9000")}), server(map[string]string{
		"cons": " /10.0.0.9:5[1](sid=0x2,est=1700000001000,to=4000,lresp=5)\n",
	})
	present.Address = "b:2181"
	assert.Equal(t, map[recognize.SessionID]recognize.Connection{
		1: {Client: "10.0.0.1:5", Server: "a:2181", Timeout: 6000, Since: time.UnixMilli(1700000000000), Silent: 1000},
		2: {Client: "10.0.0.9:5", Server: "b:2181", Timeout: 4000, Since: time.UnixMilli(1700000001000)},
	}, doctor.Clients([]*doctor.Server{present, former}), "the later connection of a session that has moved")
	assert.Equal(t, "[2001:db8::1]:6", doctor.Clients([]*doctor.Server{former})[2].Client)
}

// A holder is missing only if each member has told its connections.
func TestHoldersWhoseClientIsAwayAreFound(t *testing.T) {
	holder := func(id recognize.SessionID) []*recognize.Thing {
		return []*recognize.Thing{{Kind: recognize.Mutex, Path: "/a", Queue: []*recognize.Contender{{Path: "/a/1", Session: id, Holds: true}, {Path: "/a/2", Session: 77}}}}
	}
	follower := map[string]string{"srvr": "Mode: follower\n", "cons": "\n"}
	whole := func(silent string) []*doctor.Server {
		return []*doctor.Server{server(map[string]string{"cons": cons(silent)}), server(follower), server(follower)}
	}
	untold := whole("10000")
	delete(untold[2].Words, "cons")
	for name, c := range map[string]struct {
		things []*recognize.Thing
		all    []*doctor.Server
		found  bool
	}{
		"heard of":                 {holder(1), whole("7000"), false},
		"silent":                   {holder(1), whole("6999"), true},
		"connected nowhere":        {holder(3), whole("10000"), true},
		"a server was not asked":   {holder(3), whole("10000")[:2], false},
		"a server does not tell":   {holder(3), untold, false},
		"a holder without session": {holder(0), whole("10000"), false},
	} {
		assert.Equal(t, c.found, found(doctor.Holders(c.things, c.all))["holder.silent"], name)
	}
}

// A queue is still if its last change was the arrival of the newest contender, and that was
// more than an hour ago.
func TestQueuesThatDoNotMoveAreFound(t *testing.T) {
	now := time.Now()
	const contender = "_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82f-lock-000000000"
	world := func(pzxid int64, age time.Duration, contenders int) *recognize.World {
		nodes := map[string]*recognize.Node{"/": recognize.NewNode("/", nil, session.Stat{}), "/a": recognize.NewNode("/a", nil, session.Stat{Czxid: 1, Pzxid: pzxid})}
		for i := range contenders {
			path := "/a/" + contender + string(rune('0'+i))
			nodes[path] = recognize.NewNode(path, nil, session.Stat{Czxid: int64(10 + i), EphemeralOwner: int64(i + 1), Ctime: now.Add(-age).UnixMilli()})
		}
		return recognize.Look(maps.Values(nodes), recognize.Past{}, now)
	}
	for name, c := range map[string]struct {
		world *recognize.World
		still bool
	}{
		"no change":            {world(11, time.Hour+time.Second, 2), true},
		"for less":             {world(11, time.Hour-time.Second, 2), false},
		"a contender has left": {world(12, 2*time.Hour, 2), false},
		"no waiter":            {world(10, 2*time.Hour, 1), false},
	} {
		require.Len(t, c.world.Kinds(recognize.Mutex), 1, name)
		assert.Equal(t, c.still, slices.ContainsFunc(doctor.Still(c.world, now), func(f doctor.Finding) bool { return f.Name == "queue.still" && f.Where == "/a" }), name)
	}
}
