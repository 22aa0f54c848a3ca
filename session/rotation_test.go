package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byName has a target for each server: its name.
func byName(servers []string) []target {
	return newAddressBook(context.Background(), nil).targets(context.Background(), servers, time.Second)
}

func TestRotationTriesAllInItsOwnOrder(t *testing.T) {
	list := []string{"a", "b", "c", "d", "e"}
	orders := map[string]bool{}
	for range 200 {
		over := false
		r := newRotation(ensemble{servers: list}, newReachability(), byName, func() bool { return over }, nil)
		require.NoError(t, r.Init([]string{"zookeeper:2181"}))
		var got []string
		for range r.Len() {
			server, all := r.Next()
			assert.False(t, all)
			assert.Equal(t, server, r.server())
			got = append(got, server)
		}
		assert.ElementsMatch(t, list, got)
		again, _ := r.Next()
		assert.Equal(t, got[0], again)
		r.Connected()
		again, _ = r.Next()
		assert.Equal(t, got[1], again, "the server behind the one that was connected")
		over = true
		_, all := r.Next()
		assert.True(t, all)
		orders[strings.Join(got, "")] = true
	}
	assert.Greater(t, len(orders), 50, "clients spread over the servers")
	assert.Equal(t, []string{"a", "b", "c", "d", "e"}, list)
}

// round takes a round of addresses, in order.
func (r *rotation) nextRound() (out []string) {
	for first, _ := r.Next(); ; first, _ = r.Next() {
		if out = append(out, first); r.tried == len(r.round) {
			return out
		}
	}
}

func TestEachRoundTriesAllAddressesOfEachName(t *testing.T) {
	names := map[string][]string{"one": {"10.0.0.1"}, "three": {"10.0.1.1", "10.0.1.2", "::1", "10.0.1.2"}}
	lookups := 0
	book := newAddressBook(t.Context(), func(_ context.Context, host string) ([]string, error) {
		lookups++
		return names[host], nil
	})
	resolve := func(servers []string) (out []target) {
		for _, s := range servers { // one after the other: lookups is not guarded
			out = append(out, book.targets(context.Background(), []string{s}, time.Second)...)
		}
		return out
	}
	r := newRotation(ensemble{servers: []string{"one:2181", "three:2182", "192.0.2.1:2183"}}, newReachability(), resolve, func() bool { return false }, nil)
	want := []string{"one:2181", "10.0.1.1:2182", "10.0.1.2:2182", "[::1]:2182", "192.0.2.1:2183"}
	orders := map[string]bool{}
	for range 100 {
		round := r.nextRound()
		require.ElementsMatch(t, want, round)
		require.Equal(t, 5, r.Len())
		orders[strings.Join(round, " ")] = true
	}
	require.Greater(t, len(orders), 3, "the order of addresses is random")
	require.Equal(t, 200, lookups, "a round resolves each name once, and no address")

	names["one"] = []string{"10.0.0.1", "10.0.0.9"}
	require.Contains(t, r.nextRound(), "10.0.0.9:2181", "the next round has what was added")
	require.Equal(t, 6, r.Len())
	names["three"] = []string{"10.0.1.7"}
	require.ElementsMatch(t, []string{"10.0.0.1:2181", "10.0.0.9:2181", "three:2182", "192.0.2.1:2183"}, r.nextRound())
	require.Equal(t, 4, r.Len())

	_, _ = r.Next()
	r.Connected() // for weeks
	names["one"], names["three"] = []string{"10.0.7.1"}, []string{"10.0.7.2"}
	require.ElementsMatch(t, []string{"one:2181", "three:2182", "192.0.2.1:2183"}, r.nextRound(), "no former address is dialed")
}

func TestAddressThatHasJustFailedIsNotTheNext(t *testing.T) {
	book := newAddressBook(t.Context(), func(context.Context, string) ([]string, error) { return []string{"10.0.0.1", "10.0.0.2"}, nil })
	resolve := func(servers []string) []target { return book.targets(context.Background(), servers, time.Second) }
	r := newRotation(ensemble{servers: []string{"two:2181"}}, newReachability(), resolve, func() bool { return false }, nil)
	last := ""
	for range 200 {
		next, _ := r.Next()
		require.NotEqual(t, last, next)
		last = next
	}
}

// A name server that fails, or is silent, costs a client none of the addresses that it
// knows, and little time.
func TestKnownAddressesOutliveTheNameServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no such host")
		var answer []string
		var fail error
		silent := false
		book := newAddressBook(t.Context(), func(ctx context.Context, _ string) ([]string, error) {
			if silent {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return answer, fail
		})
		var err error
		look := func() (out []string, took time.Duration) {
			began := time.Now()
			for _, at := range book.targets(t.Context(), []string{"zk:2181"}, 9*time.Second) {
				out = append(out, at.address)
				err = at.err
			}
			return slices.Sorted(slices.Values(out)), time.Since(began)
		}
		fail = broken
		got, _ := look()
		require.Equal(t, []string{"zk:2181"}, got)
		require.ErrorIs(t, err, broken, "dialing says what is wrong with the name")
		silent = true
		got, took := look()
		require.Equal(t, []string{"zk:2181"}, got)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, maxLookup, took)
		time.Sleep(longestLookup)
		synctest.Wait() // until the lookup has ended
		silent, fail, answer = false, nil, []string{"10.0.0.2", "10.0.0.1"}
		known := []string{"10.0.0.1:2181", "10.0.0.2:2181"}
		got, _ = look()
		require.Equal(t, known, got)
		for _, fails := range []error{broken, nil} { // nil: an answer without an address
			fail, answer = fails, nil
			got, _ = look()
			require.Equal(t, known, got)
			require.NoError(t, err)
		}
		silent = true
		got, took = look()
		require.Equal(t, known, got)
		require.Equal(t, maxKnownLookup, took)
	})
}

// Once an address is known, a name that cannot be resolved costs little.
func TestNameThatIsNeverResolvedDelaysNoReconnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := newAddressBook(t.Context(), func(ctx context.Context, host string) ([]string, error) {
			if host == "silent" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return []string{"10.0.0.1"}, nil
		})
		for range 3 {
			for _, want := range []time.Duration{maxKnownLookup, 0, 0} {
				if len(book.known) == 0 {
					want = maxLookup
				}
				began := time.Now()
				require.Len(t, book.targets(t.Context(), []string{"zk:2181", "silent:2181"}, 30*time.Second), 2)
				require.Equal(t, want, time.Since(began))
			}
			time.Sleep(longestLookup)
		}
	})
}

// The servers are replaced while their names are resolved.
func TestRotationWhoseServersAreReplacedMeanwhile(t *testing.T) {
	entered, release := make(chan struct{}, 9), make(chan struct{})
	r := newRotation(ensemble{servers: []string{"old1", "old2"}}, newReachability(), func(servers []string) []target {
		entered <- struct{}{}
		<-release
		return byName(servers)
	}, func() bool { return false }, nil)
	done := make(chan string)
	// Waited for below; ends with the round.
	go func() {
		server, _ := r.Next()
		done <- server
	}()
	<-entered
	r.replace(ensemble{servers: []string{"new1", "new2"}}, nil)
	assert.True(t, r.goTo(target{server: "new2", address: "new2", alone: true}, r.stand()))
	close(release)
	assert.Equal(t, "new2", <-done)
	again, _ := r.Next()
	assert.Equal(t, "new1", again)
}
