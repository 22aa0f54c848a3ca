//go:build unix

package cluster

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// overlaps lists the leaderships that overlapped the next one, by the leaders'
// own answers.
func overlaps(list []Led) (wrong []string) {
	slices.SortFunc(list, func(a, b Led) int { return a.From.Compare(b.From) })
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if a.Until.After(b.From) {
			wrong = append(wrong, fmt.Sprintf("token %d until %v, token %d from %v", a.Token, a.Until, b.Token, b.From))
		}
		if a.Token >= b.Token {
			wrong = append(wrong, fmt.Sprintf("token %d follows on token %d", b.Token, a.Token))
		}
	}
	return wrong
}

func TestOverlapsAreNoticed(t *testing.T) {
	led := func(token int64, from, until int) Led { return Led{Token: token, From: at(from), Until: at(until)} }
	assert.Empty(t, overlaps([]Led{led(3, 20, 30), led(1, 0, 10), led(2, 10, 20)}))
	assert.Len(t, overlaps([]Led{led(1, 0, 11), led(2, 10, 20)}), 1)
	assert.Len(t, overlaps([]Led{led(2, 0, 10), led(2, 10, 20)}), 1)
}

// TestLeadershipsDoNotOverlap: leaders are cut off and asked to resign, at
// random, for a while.
func TestLeadershipsDoNotOverlap(t *testing.T) {
	b := newBed(t)
	b.sessions = time.Second // spontaneous losses do no harm here
	var nodes []*run
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		nodes = append(nodes, b.node(name))
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	leaderships := 6
	if testing.Short() {
		leaderships = 3
	}
	served := map[int64]Led{}
	look := func() *run {
		var leading *run
		for _, n := range nodes {
			s := n.Status()
			if s.Led != nil {
				served[s.Led.Token] = *s.Led
			}
			if s.Role == Leader {
				leading = n
			}
		}
		return leading
	}
	for len(served) < leaderships {
		var leader *run
		b.until(func() bool { leader = look(); return leader != nil }, "a node leads")
		others := slices.DeleteFunc(slices.Clone(nodes), func(n *run) bool { return n == leader })
		also := others[random.IntN(len(others))]
		switch random.IntN(4) {
		case 0:
			leader.Resign()
		case 1: // another node is cut off at the same time
			also.proxy.Cut()
			leader.proxy.Cut()
		default:
			leader.proxy.Cut()
		}
		token := leader.Status().Token
		b.until(func() bool { look(); s := leader.Status(); return s.Led != nil && s.Led.Token >= token }, "%s stops", leader.name)
		b.until(func() bool { l := look(); return l != nil && l != leader }, "another one leads")
		for _, n := range nodes {
			n.proxy.Heal()
		}
	}
	b.until(func() bool {
		look()
		return !slices.ContainsFunc(nodes, func(n *run) bool { s := n.Status(); return s.Role == Joining || s.SessionState != "connected" })
	}, "all are back")
	assert.Empty(t, overlaps(slices.Collect(maps.Values(served))), "seed %d", seed)
	b.lone()
}

// TestLifeHasOneSession: registrations of a session do not come back in a later
// session, however late the end is noticed.
func TestLifeHasOneSession(t *testing.T) {
	b := newBed(t)
	n, err := NewNode("n1", "127.0.0.1:1", connect(b.srv.Addr(), calm, tick))
	require.NoError(t, err)
	l, err := n.startLife(b.ctx)
	require.NoError(t, err)
	defer l.end(b.ctx)
	_, err = l.registry.Register(b.ctx, instance(coordinators, netip.MustParseAddrPort("127.0.0.1:1"), entry{Name: "n1", Znode: "/x", Token: 1}))
	require.NoError(t, err)
	require.NoError(t, b.srv.ExpireSession(l.session.ID()))
	b.until(func() bool { return l.session.Err() != nil }, "the session is lost")
	require.Never(t, func() bool {
		names, err := b.srv.Children("/" + coordinators)
		return err != nil || len(names) > 0 || len(b.srv.Sessions()) > 0
	}, 400*time.Millisecond, 5*time.Millisecond, "there is no second session")
}

// TestNodeComesBackWhenServersWereAway: after a failure to begin a life, the
// node retries.
func TestNodeComesBackWhenServersWereAway(t *testing.T) {
	b := newBed(t)
	refused := 0
	n, err := NewNode("n1", "127.0.0.1:1", func(ctx context.Context, dial Dialer) (*session.Client, error) {
		if refused++; refused < 4 {
			return nil, &net.OpError{Op: "dial", Err: session.ErrUnreachable}
		}
		return connect(b.srv.Addr(), calm, tick)(ctx, dial)
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(b.ctx)
	over := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { over <- n.Run(ctx) }()
	b.until(func() bool { return n.Leads() != nil }, "it leads")
	assert.Equal(t, 4, refused)
	assert.Equal(t, 1, n.Status().Life, "only begun lives count")
	stop()
	require.NoError(t, <-over)
	assert.Empty(t, n.Status().Watched)
}
