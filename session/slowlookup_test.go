package session

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// nameServer is a name server for which every name stands for the same addresses. It runs in a
// bubble.
type nameServer struct {
	mu        sync.Mutex // guards the rest
	addresses []string
	takes     time.Duration // for an answer
	silent    int           // how many questions get no answer
	fails     error         // instead of the addresses
	asked     int
	inFlight  map[string]int
	most      int // lookups of one name at the same time
}

func (s *nameServer) set(takes time.Duration, addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.addresses = takes, addresses
}

func (s *nameServer) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// lookups is how many lookups of a name are in flight, and were at the same time at most.
func (s *nameServer) lookups(host string) (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight[host], s.most
}

func (s *nameServer) lookup(ctx context.Context, host string) ([]string, error) {
	s.mu.Lock()
	takes := s.takes
	if s.silent > 0 {
		s.silent--
		takes = time.Hour
	}
	if s.inFlight == nil {
		s.inFlight = map[string]int{}
	}
	s.asked++
	s.inFlight[host]++
	s.most = max(s.most, s.inFlight[host])
	s.mu.Unlock()
	answer := time.NewTimer(takes)
	defer answer.Stop()
	var err error
	select {
	case <-answer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight[host]--
	if err == nil && s.fails != nil {
		err = s.fails
	}
	return s.addresses, err
}

// An answer that comes later than an attempt to connect waits for it is used.
func TestAnswersOfASlowNameServerAreUsed(t *testing.T) {
	for _, takes := range []time.Duration{0, time.Second, 3 * time.Second, 9 * time.Second, 19 * time.Second} {
		inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
			n := &network{world: w}
			names := &nameServer{addresses: []string{"10.1.0.1"}, takes: takes}
			began := time.Now()
			c, err := Connect(w.within(time.Minute), "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
			require.NoError(w, err, "%v", takes)
			defer w.close(c)
			assert.Less(w, time.Since(began), takes+2*time.Second)
			if takes > 2*time.Second {
				return // what is held does not last as long
			}

			// The server moves to another address while the client is connected.
			hold := w.createHeld(w.session(c), "/held")
			time.Sleep(10 * time.Second) // a new hold is trusted for less time
			names.set(2*time.Second, "10.1.0.2")
			require.NoError(w, w.srv.Stop(1))
			require.NoError(w, w.session(c).Sync(w.within(10*time.Second), "/"))
			require.NoError(w, hold.Context().Err(), "%v", takes)
			_, most := names.lookups("zk")
			assert.Equal(w, 1, most, "lookups at the same time")
			assert.LessOrEqual(w, names.questions(), 40)
		})
	}
}

// While a lookup is in flight, the addresses last known are tried, without a wait at each round.
func TestKnownAddressesAreUsedWhileTheNameServerIsSlow(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		names := &nameServer{addresses: []string{"10.1.0.1"}}
		c, err := Connect(w.ctx, "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
		require.NoError(w, err)
		defer w.close(c)
		hold := w.createHeld(w.session(c), "/held")
		names.set(time.Hour)
		for range 10 {
			w.srv.CutAll()
			cut := time.Now()
			require.NoError(w, w.session(c).Sync(w.within(time.Minute), "/"))
			assert.LessOrEqual(w, time.Since(cut), maxKnownLookup+100*time.Millisecond)
			time.Sleep(time.Second)
		}
		assert.Equal(w, 2, names.questions(), "one at the beginning, and one that is in flight")
		require.NoError(w, hold.Context().Err())
	})
}

// A lookup without an answer ends, and another one begins.
func TestLookupWithoutAnAnswerIsRepeated(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, nil, func(w *world) {
		n := &network{world: w}
		names := &nameServer{addresses: []string{"10.1.0.1"}, silent: 1}
		began := time.Now()
		c, err := Connect(w.within(time.Minute), "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
		require.NoError(w, err)
		w.close(c)
		assert.Less(w, time.Since(began), longestLookup+2*time.Second)
		assert.Equal(w, 2, names.questions())
	})
}

// The error of a lookup that comes late is in the error of Connect, and so is its absence.
func TestConnectSaysWhatIsWrongWithASlowNameServer(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		n := &network{world: w}
		refused := errors.New("the name server refuses")
		names := &nameServer{takes: time.Hour}
		began := time.Now()
		_, err := Connect(w.within(5*time.Second), "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
		require.ErrorIs(w, err, ErrUnreachable)
		require.ErrorContains(w, err, "resolve zk: no answer for")
		assert.LessOrEqual(w, time.Since(began), 6*time.Second, "the lookup ends with the attempt; go-zookeeper may take a second to end")
		now, _ := names.lookups("zk")
		assert.Equal(w, 0, now)

		names = &nameServer{takes: 3 * time.Second, fails: refused}
		_, err = Connect(w.within(4*time.Second), "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
		require.ErrorIs(w, err, refused)
	})
}

// Close ends the lookups that are in flight, and leaves no goroutine behind.
func TestCloseEndsALookup(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		n := &network{world: w}
		names := &nameServer{addresses: []string{"10.1.0.1"}}
		c, err := Connect(w.ctx, "zk:2181", &Options{Dialer: n.dial, Resolver: names.lookup})
		require.NoError(w, err)
		names.set(time.Hour)
		w.srv.CutAll()
		time.Sleep(5 * time.Second)
		assert.Equal(w, Connected, c.State().Status)
		now, _ := names.lookups("zk")
		assert.Equal(w, 1, now)
		began := time.Now()
		w.close(c)
		assert.Less(w, time.Since(began), time.Second)
		now, _ = names.lookups("zk")
		assert.Equal(w, 0, now)
	})
}
