package apache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fields are the ends between which links run: servers, and clients of this
// machine, each with a prober in its network namespace.
type field struct {
	hosts []string
	in    map[string]io.Writer
	heard chan string
	round int
}

func newField(t *testing.T, c *Cluster) *field {
	t.Helper()
	f := &field{in: map[string]io.Writer{}, heard: make(chan string, 1000)}
	for i, p := range c.places {
		inside, err := c.back.namespacePrefix(t.Context(), i)
		require.NoError(t, err)
		f.startProber(t, inside, p.host)
	}
	f.startProber(t, nil, c.subnet.gateway(), c.subnet.clientAddr(0), c.subnet.clientAddr(1))
	return f
}

// startProber starts a prober for hosts that share a namespace.
func (f *field) startProber(t *testing.T, inside []string, hosts ...string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	args := append(append([]string{}, inside...), self)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), envRole+"=prober", "PROBER_HOSTS="+strings.Join(hosts, ","))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for range hosts {
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), "ready")
	}
	done := make(chan struct{})
	// The clean-up below waits for this goroutine, which ends with the prober;
	// the prober ends with its input.
	go func() {
		defer close(done)
		for lines.Scan() {
			f.heard <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		<-done
		require.NoError(t, cmd.Wait())
	})
	for _, h := range hosts {
		f.hosts = append(f.hosts, h)
		f.in[h] = in
	}
}

// allLinks are all directed pairs with a server on at least one end.
func (f *field) allLinks(c *Cluster) []string {
	var all []string
	for a, from := range f.hosts {
		for b, to := range f.hosts {
			if a != b && (a < len(c.places) || b < len(c.places)) {
				all = append(all, from+" "+to)
			}
		}
	}
	return all
}

func (f *field) sendOn(links []string, text string) {
	for _, l := range links {
		_, _ = fmt.Fprintf(f.in[strings.Fields(l)[0]], "%s %s\n", l, text)
	}
}

// lostLinks returns the links on which a datagram does not arrive. It sends a
// datagram on each link, heals, and sends a second datagram: when the second
// has arrived, the first would have arrived too.
func (f *field) lostLinks(t *testing.T, c *Cluster) []string {
	t.Helper()
	f.round++
	first, second := fmt.Sprintf("first%d", f.round), fmt.Sprintf("second%d", f.round)
	links := f.allLinks(c)
	f.sendOn(links, first)
	open := map[string]bool{}
	// waitFor waits for n matching lines, and records all other lines.
	waitFor := func(n int, patience time.Duration, want func(line string) bool) int {
		limit := time.After(patience)
		for ; n > 0; n-- {
			for got := ""; got == "" || !want(got); {
				select {
				case got = <-f.heard:
					if link, ok := strings.CutSuffix(got, " "+first); ok && link != "sent" {
						open[link] = true
					}
				case <-limit:
					return n
				}
			}
		}
		return 0
	}
	// The cut must still be there when the first datagrams pass: wait until all are
	// sent, and for as many as come in a while.
	require.Zero(t, waitFor(len(links), patience, func(line string) bool { return line == "sent "+first }))
	waitFor(len(links)-len(open), 100*time.Millisecond, func(line string) bool {
		return strings.HasSuffix(line, " "+first)
	})
	require.NoError(t, c.Heal(t.Context()))
	f.sendOn(links, second)
	require.Zero(t, waitFor(len(links), patience, func(line string) bool {
		return strings.HasSuffix(line, " "+second) && !strings.HasPrefix(line, "sent ")
	}), "all links work again after Heal")
	var lost []string
	for _, l := range links {
		if !open[l] {
			lost = append(lost, l)
		}
	}
	return lost
}

func TestEachCutLosesExactlyItsLinkInItsDirection(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Servers: 3, Cuts: true})
		ctx := t.Context()
		f := newField(t, c)
		require.Empty(t, f.lostLinks(t, c), "nothing is cut at first")
		s := []string{c.places[0].host, c.places[1].host, c.places[2].host}
		gate, c0, c1 := c.subnet.gateway(), c.subnet.clientAddr(0), c.subnet.clientAddr(1)

		for _, pair := range [][2]int{{0, 1}, {0, 2}, {2, 1}} {
			i, j := pair[0], pair[1]
			require.NoError(t, c.CutPeers(ctx, i, j, Forth))
			require.ElementsMatch(t, []string{s[i] + " " + s[j]}, f.lostLinks(t, c))
			require.NoError(t, c.CutPeers(ctx, i, j, Back))
			require.ElementsMatch(t, []string{s[j] + " " + s[i]}, f.lostLinks(t, c))
			require.NoError(t, c.CutPeers(ctx, i, j, Both))
			require.NoError(t, c.CutPeers(ctx, i, j, Both), "a second time changes nothing")
			require.ElementsMatch(t, []string{s[i] + " " + s[j], s[j] + " " + s[i]}, f.lostLinks(t, c))
		}
		require.NoError(t, c.CutClient(ctx, 0, 1, Forth))
		require.ElementsMatch(t, []string{c0 + " " + s[1]}, f.lostLinks(t, c))
		require.NoError(t, c.CutClient(ctx, 0, 1, Back))
		require.ElementsMatch(t, []string{s[1] + " " + c0}, f.lostLinks(t, c))
		require.NoError(t, c.CutClient(ctx, 1, 2, Both))
		require.ElementsMatch(t, []string{c1 + " " + s[2], s[2] + " " + c1}, f.lostLinks(t, c))
		require.NoError(t, c.CutClient(ctx, EveryClient, 0, Forth))
		require.ElementsMatch(t, []string{gate + " " + s[0], c0 + " " + s[0], c1 + " " + s[0]}, f.lostLinks(t, c))
		require.NoError(t, c.Isolate(ctx, 0))
		require.ElementsMatch(t, []string{s[0] + " " + s[1], s[1] + " " + s[0], s[0] + " " + s[2], s[2] + " " + s[0]}, f.lostLinks(t, c))

		require.ErrorIs(t, c.CutPeers(ctx, 0, 3, Both), ErrNoServer)
		require.ErrorIs(t, c.CutPeers(ctx, 3, 0, Both), ErrNoServer)
		require.Error(t, c.CutClient(ctx, Clients, 0, Both))
		require.ErrorIs(t, c.CutClient(ctx, 0, 3, Both), ErrNoServer)
	})
}

func TestIsolatedLeaderIsReplacedAndComesBack(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Servers: 3, Cuts: true})
		ctx := t.Context()
		old, err := c.Leader(ctx)
		require.NoError(t, err)
		a, b := (old+1)%3, (old+2)%3
		require.NoError(t, c.Isolate(ctx, old))
		require.Eventually(t, func() bool {
			for _, i := range []int{a, b} {
				if role, err := c.Role(ctx, i); err == nil && role == "leader" {
					return true
				}
			}
			return false
		}, patience, 50*time.Millisecond, "the other two elect one of them")
		require.Eventually(t, func() bool {
			_, err := c.Role(ctx, old)
			return errors.Is(err, ErrNotServing)
		}, patience, 50*time.Millisecond, "the old one gives up")

		// A cut outlives its server.
		require.NoError(t, c.Kill(ctx, old))
		require.NoError(t, c.Launch(ctx, old))
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		require.Error(t, c.Await(short, old), "still cut off after a restart")
		require.NoError(t, c.Heal(ctx))
		require.NoError(t, c.Await(ctx))
	})
}

func TestCutClientIsCutOffWhileOthersAreServed(t *testing.T) {
	c := Require(t, &Options{Cuts: true})
	ctx := t.Context()
	served := func(k int, patience time.Duration) error {
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		conn, err := c.Client(k).DialContext(short, "tcp", c.Connect())
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	require.NoError(t, served(3, patience))
	require.NoError(t, c.CutClient(ctx, 3, 0, Back))
	require.Error(t, served(3, 500*time.Millisecond))
	require.NoError(t, served(4, patience))
	_, err := c.Role(ctx, 0)
	require.NoError(t, err, "nor is a client without a number cut off")
	require.NoError(t, c.Heal(ctx))
	require.NoError(t, served(3, patience))
	conn, err := c.Client(5).Dial("tcp", c.Connect(), patience)
	require.NoError(t, err)
	require.Contains(t, conn.LocalAddr().String(), c.subnet.clientAddr(5))
	require.NoError(t, conn.Close())
}
