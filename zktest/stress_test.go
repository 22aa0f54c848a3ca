package zktest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// causeMisfortune does something bad to a random part of the server.
func causeMisfortune(s *zktest.Server, rnd *rand.Rand, servers int) {
	i, j := 1+rnd.IntN(servers), 1+rnd.IntN(servers)
	d := zktest.Direction(rnd.IntN(3))
	link := zktest.Link{Server: i}
	if rnd.IntN(2) == 0 {
		link = zktest.Link{Client: fmt.Sprint("c", rnd.IntN(4))}
	}
	switch rnd.IntN(12) {
	case 0:
		s.CutAll()
	case 1:
		s.CutLink(link)
	case 2:
		s.BlackHole(link, d)
	case 3:
		s.Delay(link, d, time.Duration(rnd.IntN(3000))*time.Millisecond)
	case 4, 5:
		s.Heal()
	case 6:
		_ = s.Stop(i)
	case 7:
		_ = s.Restart(i)
	case 8:
		_ = s.Freeze(i)
	case 9:
		_ = s.Thaw(i)
	case 10:
		s.CutPeers(i, j, d)
	case 11:
		if live := s.Sessions(); len(live) > 0 {
			_ = s.ExpireSession(live[rnd.IntN(len(live))].ID)
		}
	}
	s.FailNth(nil, 1+rnd.IntN(20), zktest.Action{Do: zktest.Fault(rnd.IntN(int(zktest.DelayReply) + 1)), For: time.Second})
}

func recoverAll(s *zktest.Server, servers int) {
	s.Heal()
	s.HealPeers()
	for i := 1; i <= servers; i++ {
		_ = s.Thaw(i)
		_ = s.Restart(i)
	}
}

// runWorker creates nodes until stop is closed and returns the acknowledged nodes.
// runWorker runs in a bubble.
func runWorker(c *client, name string, stop <-chan struct{}) []string {
	var made []string
	for n := 0; ; n++ {
		select {
		case <-stop:
			return made
		case <-time.After(300 * time.Millisecond):
		}
		p := fmt.Sprintf("/%s-%d", name, n)
		if _, err := c.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
			made = append(made, p)
		}
	}
}

func TestClientsUnderRandomFaultsLoseNothingThatWasAcknowledged(t *testing.T) {
	total := 0 // of all seeds; some break everything from the start
	for _, servers := range []int{1, 3} {
		for seed := range uint64(12) {
			t.Run(fmt.Sprintf("servers=%d/seed=%d", servers, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rnd := rand.New(rand.NewPCG(seed, uint64(servers)))
					s := startMemory(t, &zktest.Options{Servers: servers})
					require.NoError(t, s.WaitLeader(t.Context()))
					stop := make(chan struct{})
					var wg sync.WaitGroup
					made := make([][]string, 4)
					clients := make([]*client, 4)
					for i := range made {
						name := fmt.Sprint("c", i)
						clients[i] = connectAs(t, s, name, 10*time.Second)
						// wg.Wait waits for the worker; stop ends the worker.
						wg.Go(func() { made[i] = runWorker(clients[i], name, stop) })
					}
					for range 40 {
						causeMisfortune(s, rnd, servers)
						time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
					}
					recoverAll(s, servers)
					close(stop)
					wg.Wait()
					require.NoError(t, s.WaitLeader(t.Context()))
					for _, list := range made {
						for _, p := range list {
							_, err := s.Get(p)
							require.NoError(t, err)
							total++
						}
					}
					recoverAll(s, servers)
					for i, c := range clients {
						require.NoError(t, awaitUsable(c), i)
					}
				})
			})
		}
	}
	require.Greater(t, total, 300)
}

// awaitUsable waits, in a bubble, until the client can write again.
func awaitUsable(c *client) error {
	var err error
	for range 300 {
		if _, err = c.Create("/usable", nil, 0, zk.WorldACL(zk.PermAll)); err == nil || errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}

func TestFaultsFromManyGoroutinesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startMemory(t, threeServers())
		require.NoError(t, s.WaitLeader(t.Context()))
		remove := s.OnRequest(func(zktest.Request) zktest.Action {
			_ = s.Stats()
			_ = s.Sessions()
			_ = s.Watches()
			_ = s.Dump()
			_ = s.FourLetter(1, "mntr")
			return zktest.Action{}
		})
		defer remove()
		s.OnApply(func(zktest.Txn) { _ = s.Leader() })
		c := connect(t, s, 10*time.Second)
		var wg sync.WaitGroup
		for g := range uint64(4) {
			// wg.Wait waits for the goroutine, which ends after 30 faults.
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(g, 9))
				for range 30 {
					causeMisfortune(s, rnd, 3)
					time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
				}
			})
		}
		wg.Wait()
		recoverAll(s, 3)
		require.NoError(t, awaitUsable(c))
	})
}
