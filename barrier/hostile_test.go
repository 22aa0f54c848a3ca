package barrier_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A copied record, or a record restored from a backup, has the numbers of
// another znode: the copy's numbers begin with 0 again, and "0-5" would let the
// next six parties pass alone.
func TestCopiedRecordLetsNoPartyPass(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const other = "/barriers/b"
		all, clients := w.barriers(2, 2, nil)
		for n := int64(1); n <= 3; n++ {
			a := w.await(w.Ctx, all[0])
			w.round(w.await(w.Ctx, all[1]), n)
			w.round(a, n)
		}
		old, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.NoError(w, w.Server.Create(other, old.Data))
		_, err = barrier.New(clients[0], other, 2, nil).Await(w.Within(time.Minute))
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.Empty(w, w.Children(other))
		_, err = barrier.New(clients[0], other, 2, nil).Waiting(w.Ctx)
		require.ErrorIs(w, err, barrier.ErrRecord)

		// The same for a client that knows the path, when the path is deleted and
		// restored.
		require.NoError(w, w.Server.Delete(dir))
		require.NoError(w, w.Server.Create(dir, old.Data))
		_, err = all[0].Await(w.Within(time.Minute))
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.Empty(w, w.Children(dir))
		now, err := w.Server.Get(dir)
		require.NoError(w, err)
		require.Equal(w, old.Data, now.Data)
		require.NoError(w, w.Server.Set(dir, nil), "the documented remedy")
		a := w.await(w.Ctx, all[0])
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
		w.clean()
	})
}

// A znode beside the path that does not list recent rounds is foreign, and is left alone.
func TestForeignDataBesideThePathIsLeftAlone(t *testing.T) {
	for _, data := range []string{"10.0.0.1", "7\n", "x 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10\n", `{"kind":"barrier"}`} {
		inWorld(t, nil, func(w *World) {
			all, _ := w.barriers(2, 2, nil)
			require.NoError(w, w.Server.Create("/barriers", nil))
			require.NoError(w, w.Server.Create(dir+".passed", []byte(data)))
			first := w.await(w.Ctx, all[0])
			_, err := all[1].Await(w.Within(time.Minute))
			require.ErrorIs(w, err, barrier.ErrRecord)
			require.ErrorContains(w, err, dir+".passed")
			pending(w, first)
			now, err := w.Server.Get(dir + ".passed")
			require.NoError(w, err)
			require.Equal(w, data, string(now.Data))
			require.NoError(w, w.Server.Set(dir+".passed", nil))
			w.round(w.await(w.Ctx, all[1]), 1)
			w.round(first, 1)
		})
	}
}

// Servers assign each number once. A foreign znode with the name and number of
// a party, as in a restored tree, must not get into the record: the record
// would become unreadable.
func TestTwoPartiesWithOneNumberAreRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const stranger = dir + "/_c_6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10-x-party-0000000001"
		all, _ := w.barriers(2, 2, nil)
		require.NoError(w, w.Server.Create("/barriers", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		require.NoError(w, w.Server.Create(stranger, nil))
		_, err := all[0].Await(w.Within(time.Minute))
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.NoError(w, w.Server.Delete(stranger))
		a := w.await(w.Ctx, all[0])
		w.round(w.await(w.Ctx, all[1]), 1)
		w.round(a, 1)
		w.clean()
	})
}

// A party whose request is refused withdraws. If other parties have let it
// through before, the party has passed in spite of the refusal.
func TestPartyThatIsRefusedButLetThroughHasPassed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		without := barrier.New(w.Client(), dir, 2, nil)
		may := session.Options{Credentials: []session.Credential{session.Digest("ops", "secret")}}
		a, b := w.ClientWith(may), w.ClientWith(may)
		// A client without credentials may come and go, but may not create the recent rounds.
		acl := append(session.WorldACL(zk.PermRead), session.CreatorACL()...)
		_, err := w.Session(a).Create(w.Ctx, "/barriers", nil, session.Persistent, &session.CreateOptions{ACL: acl})
		require.NoError(w, err)
		first := w.await(w.Ctx, barrier.New(a, dir, 2, nil))
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.Both, time.Second)
		multis := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Client == "c1" && r.Op == "multi" && !r.OnlyChecks {
				multis++
			}
			return zktest.Action{}
		})
		refused := w.await(w.Ctx, without)
		w.Pass(6400*time.Millisecond + time.Duration(world.RoundTripsOfCreation())*2*time.Second) // looked, arrived, listed, and was refused
		require.Equal(w, 1, multis)
		require.Len(w, w.Children(dir), 2)
		third := w.await(w.Ctx, barrier.New(b, dir, 2, nil)) // its deletion is on the way
		w.round(first, 1)
		w.round(refused, 1)
		pending(w, third)
		// Otherwise the party gets the refusal, and leaves nothing.
		require.NoError(w, w.Server.Delete(dir+".passed"))
		got := <-w.await(w.Within(time.Minute), without)
		require.ErrorIs(w, got.err, session.ErrNoAuth)
		require.NotErrorIs(w, got.err, session.ErrUnknownOutcome)
		require.Len(w, w.Children(dir), 1)
		pending(w, third)
		_, err = barrier.New(b, dir, 2, nil).Await(w.Ctx)
		require.NoError(w, err)
		w.round(third, 2)
	})
}

// A party that may not write the first record gets the refusal; no other party
// can have let it through.
func TestPartyThatMayNotWriteTheRecordIsNotInDoubt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		require.NoError(w, w.Server.Create("/barriers", nil))
		_, err := w.Session(c).Create(w.Ctx, dir, nil, session.Persistent, &session.CreateOptions{ACL: session.WorldACL(zk.PermAll &^ zk.PermWrite)})
		require.NoError(w, err)
		_, err = barrier.New(c, dir, 2, nil).Await(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.NotErrorIs(w, err, session.ErrUnknownOutcome)
		_, err = barrier.NewDouble(c, dir, 2, nil).Enter(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.clean()
	})
}

// A request that costs the connection each time (a server whose jute.maxbuffer
// is smaller, a proxy) is not repeated at the speed of the network.
func TestRequestsThatCostTheConnectionAreRepeatedWithPauses(t *testing.T) {
	type call func(w *World, c *session.Client) error
	await := func(w *World, c *session.Client) error {
		_, err := barrier.New(c, dir, 2, &barrier.Options{InTree: true}).Await(w.Ctx)
		return err
	}
	enter := func(w *World, c *session.Client) error {
		_, err := barrier.NewDouble(c, dir, 2, nil).Enter(w.Ctx)
		return err
	}
	set := func(w *World, c *session.Client) error { return barrier.NewGate(c, dir, nil).Set(w.Ctx) }
	remove := func(w *World, c *session.Client) error { return barrier.NewGate(c, dir, nil).Remove(w.Ctx) }
	wait := func(w *World, c *session.Client) error { return barrier.NewGate(c, dir, nil).Wait(w.Ctx) }
	for _, c := range []struct {
		name, op      string
		below         bool // the request is for a child
		first, tested call
		then          call // when the requests get through again
	}{
		{"path", "create", false, nil, await, await},
		{"arrival", "create", true, nil, await, await},
		{"record", "setData", false, nil, await, await},
		{"search", "multi", false, nil, await, await},
		{"release", "multi", true, await, await, nil},
		{"entry", "multi", true, enter, enter, nil},
		{"closing", "create", false, nil, set, nil},
		{"opening", "delete", false, set, remove, nil},
		{"look before the opening", "multi", false, set, remove, nil},
		{"look", "multi", false, nil, wait, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch c.name {
			case "arrival", "search", "closing", "opening":
				world.Needs(t, world.Resumes) // otherwise the first try ends in doubt
			}
			inWorld(t, nil, func(w *World) {
				tested, other := w.Client(), w.Client()
				require.NoError(w, w.Server.Create("/barriers", nil))
				begun, out := 0, make(chan error, 3)
				begin := func(do call, client *session.Client) {
					if do != nil {
						begun++
						// Waited for below; ends when nothing is in its way.
						go func() { out <- do(w, client) }()
						w.Settle()
					}
				}
				begin(c.first, other)
				if c.name == "search" { // for the outcome of the arrival
					mine := func(r zktest.Request) bool { return world.Creates(r.Op) && strings.HasPrefix(r.Path, dir+"/") }
					w.Server.FailNth(mine, 1, zktest.Action{Do: zktest.CutBefore})
				}
				tries := 0
				stop := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Client == "c1" && (r.Op == c.op || world.Creates(r.Op) && world.Creates(c.op)) && (r.Path == dir || strings.HasPrefix(r.Path, dir+"/")) && c.below == (r.Path != dir) {
						tries++
						return zktest.Action{Do: zktest.CutBefore}
					}
					return zktest.Action{}
				})
				begin(c.tested, tested)
				w.Pass(time.Minute)
				require.Greater(w, tries, 3)
				require.Less(w, tries, 100)
				stop()
				w.Pass(time.Minute)
				begin(c.then, other)
				for range begun {
					require.NoError(w, <-out)
				}
			})
		})
	}
}
