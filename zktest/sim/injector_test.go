package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// inject runs body in a bubble, with the schedule in progress and a client a.
func inject(t *testing.T, servers int, schedule string, body func(t *testing.T, i *Injector, c *session.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := zktest.Start(&zktest.Options{InMemory: true, Servers: servers})
		require.NoError(t, err)
		defer server.Close()
		c, err := session.Connect(t.Context(), server.Addr(), &session.Options{Dialer: server.Client("a")})
		require.NoError(t, err)
		defer closeClient(t.Context(), c)
		i := &Injector{Server: server}
		done := make(chan error, 1)
		// Waited for below; ends with the schedule.
		go func() { done <- i.Inject(t.Context(), MustParse(schedule)) }()
		body(t, i, c)
		require.NoError(t, <-done)
		// All is well again.
		s, err := c.Session(t.Context())
		require.NoError(t, err)
		_, _, err = s.Get(t.Context(), "/")
		require.NoError(t, err)
	})
}

// takes is how long a read takes.
func takes(t *testing.T, c *session.Client) time.Duration {
	t.Helper()
	began := time.Now()
	require.NoError(t, c.Retry(t.Context(), func(s *session.Session) error {
		_, _, err := s.Get(t.Context(), "/")
		return err
	}))
	return time.Since(began)
}

func TestFaultsOfTheNetworkDelayAClient(t *testing.T) {
	for schedule, least := range map[string]time.Duration{
		"1s +2s hole process=a":                                                                 time.Second,
		"1s +2s hole process=a direction=to-client":                                             time.Second,
		"1s +9s delay process=a by=700ms":                                                       1400 * time.Millisecond,
		"1s +9s delay process=a by=700ms direction=to-server":                                   700 * time.Millisecond,
		"1s +2s freeze process=a":                                                               time.Second,
		"1s +2s freeze-server server=1":                                                         time.Second,
		"1s +2s stop-server server=1":                                                           time.Second,
		"1s +9s swallow-request process=a nth=1":                                                time.Second,
		"1s +9s swallow-reply process=a nth=1":                                                  time.Second,
		"1s +2s hole process=a\n2s +2s hole process=a":                                          2 * time.Second,
		"1s +4s freeze-server server=1\n2s +200ms freeze-server server=1":                       3 * time.Second,
		"1s +4s hole process=a\n1100ms +300ms delay process=a by=10ms\n1s +2s freeze process=a": 3 * time.Second,
	} {
		inject(t, 1, schedule, func(t *testing.T, _ *Injector, c *session.Client) {
			sleep(t.Context(), 1500*time.Millisecond)
			took := takes(t, c)
			require.GreaterOrEqual(t, took, least, schedule)
			require.Less(t, took, 9*time.Second, schedule)
		})
	}
}

func TestFaultsThatBreakAConnection(t *testing.T) {
	for _, schedule := range []string{
		"1s cut process=a", "1s kill process=a", "1s +1s lose-request process=a nth=1", "1s +1s lose-reply process=a nth=1",
		"1s +1s cut-after process=a nth=1",
	} {
		inject(t, 1, schedule, func(t *testing.T, i *Injector, c *session.Client) {
			connects := func() int { return i.Server.Stats().Requests["connect"] }
			before := connects()
			sleep(t.Context(), 1500*time.Millisecond)
			takes(t, c)
			sleep(t.Context(), time.Second)
			require.Greater(t, connects(), before, schedule)
		})
	}
}

func TestAFaultOfOneRequestIsCalledOff(t *testing.T) {
	inject(t, 1, "1s +1s lose-reply process=a nth=1", func(t *testing.T, i *Injector, c *session.Client) {
		before := i.Server.Stats().Requests["connect"]
		sleep(t.Context(), 2500*time.Millisecond)
		takes(t, c)
		sleep(t.Context(), time.Second)
		require.Equal(t, before, i.Server.Stats().Requests["connect"])
	})
}

func TestOnlyTheWorkOfTheProcessCounts(t *testing.T) {
	inject(t, 1, "1s +9s lose-reply process=b nth=1\n1s +7s lose-request process=a nth=1", func(t *testing.T, i *Injector, _ *session.Client) {
		before := i.Server.Stats().Requests
		sleep(t.Context(), 7*time.Second) // only pings of a
		require.Greater(t, i.Server.Stats().Requests["ping"], before["ping"])
		require.Equal(t, i.Server.Stats().Requests["connect"], before["connect"])
		sleep(t.Context(), 2*time.Second)
	})
	inject(t, 1, "1s +9s lose-reply process=b nth=1", func(t *testing.T, i *Injector, c *session.Client) {
		before := i.Server.Stats().Requests["connect"]
		sleep(t.Context(), 2*time.Second)
		takes(t, c)
		require.Equal(t, i.Server.Stats().Requests["connect"], before)
	})
}

func TestExpireTellsOfTheSession(t *testing.T) {
	inject(t, 1, "", func(t *testing.T, i *Injector, c *session.Client) {
		s, err := c.Session(t.Context())
		require.NoError(t, err)
		var expired []int64
		own := Injector{Server: i.Server, Expire: func(id int64) { expired = append(expired, id) }}
		require.NoError(t, own.Inject(t.Context(), MustParse("9s expire process=a\n9s expire process=b")))
		<-s.Context().Done()
		require.ErrorIs(t, s.Err(), session.ErrLost)
		require.Equal(t, []int64{s.ID()}, expired)
	})
}

func TestFaultsOfAnEnsemble(t *testing.T) {
	for _, schedule := range []string{
		"1s +30s isolate-leader", "1s +30s isolate server=1\n1s +9s isolate server=2\n1s +9s isolate server=3",
		"1s +30s cut-servers server=1 other=2\n1s +30s cut-servers server=1 other=3\n1s +30s cut-servers server=2 other=3",
	} {
		inject(t, 3, schedule, func(t *testing.T, i *Injector, _ *session.Client) {
			require.NoError(t, i.Server.WaitLeader(t.Context()))
			leader := i.Server.Leader()
			sleep(t.Context(), 15*time.Second)
			require.NotEqual(t, leader, i.Server.Leader(), schedule)
			sleep(t.Context(), 40*time.Second)
			require.NotZero(t, i.Server.Leader(), schedule)
		})
	}
	inject(t, 3, "1s +9s lag server=1\n1s +9s lag server=2\n1s +9s lag server=3", func(t *testing.T, i *Injector, _ *session.Client) {
		sleep(t.Context(), 2*time.Second)
		require.NoError(t, i.Server.Create("/new", nil))
		sleep(t.Context(), time.Second)
		lacks := 0
		for n := range 3 {
			if _, err := i.Server.GetAt(n+1, "/new"); err != nil {
				lacks++
			}
		}
		require.NotZero(t, lacks)
	})
}

func TestEmptyDeletesEverything(t *testing.T) {
	inject(t, 1, "1s empty", func(t *testing.T, i *Injector, _ *session.Client) {
		require.NoError(t, i.Server.Create("/old", nil))
		sleep(t.Context(), 2*time.Second)
		_, err := i.Server.Get("/old")
		require.ErrorIs(t, err, zktest.ErrNoNode)
	})
}

func TestAnInvalidScheduleInjectsNothing(t *testing.T) {
	inject(t, 1, "", func(t *testing.T, i *Injector, _ *session.Client) {
		require.ErrorIs(t, i.Inject(t.Context(), Schedule{{Kind: StopServer, Server: 2}}), ErrFault)
		require.ErrorIs(t, i.Inject(t.Context(), Schedule{{Kind: Lag, Server: 1}}), ErrFault)
		require.ErrorIs(t, i.Inject(t.Context(), Schedule{{Kind: Cut}}), ErrFault)
	})
}

func TestTheEndOfTheContextHealsAllFaults(t *testing.T) {
	inject(t, 1, "", func(t *testing.T, i *Injector, c *session.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		require.NoError(t, i.Inject(ctx, MustParse("1s +1h hole process=a\n1s +1h stop-server server=1\n3s cut process=a")))
		require.Less(t, takes(t, c), 9*time.Second)
	})
}
