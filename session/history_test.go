package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// history is the actions of several clients, and the state that the server must
// show.
type history struct {
	*world
	mu      sync.Mutex
	sets    int // acknowledged compare-and-set writes
	unknown int // whose outcome is unknown
	denied  int
}

// user is one client's life: compare-and-set on a counter, and creation and
// deletion of protected nodes, with contexts of random length. It runs in a
// bubble.
func (h *history) user(ctx context.Context, rng *rand.Rand, c *Client) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		s, err := c.Session(ctx)
		if err != nil {
			continue
		}
		call, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(4000))*time.Millisecond)
		if rng.IntN(2) == 0 {
			h.increment(call, s)
		} else {
			h.comeAndGo(call, s, rng)
		}
		cancel()
	}
}

func (h *history) increment(ctx context.Context, s *Session) {
	_, stat, err := s.Get(ctx, "/counter")
	if err != nil {
		return
	}
	_, err = s.Set(ctx, "/counter", nil, stat.Version)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.sets++
	case errors.Is(err, ErrUnknownOutcome):
		h.unknown++
	default:
		h.denied++
	}
}

// comeAndGo creates and deletes a node, and must leave nothing under any fault.
// It runs in a bubble.
func (h *history) comeAndGo(ctx context.Context, s *Session, rng *rand.Rand) {
	mode := EphemeralSequential
	if rng.IntN(2) == 0 {
		mode = Ephemeral
	}
	node, err := s.CreateProtected(ctx, "/nodes/"+ProtectedName("n-"), nil, mode, nil)
	if err != nil {
		return
	}
	hold, err := s.Hold(ctx, node.Path, nil)
	if err == nil {
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		hold.End(nil)
	}
	_ = s.EnsureDeleted(ctx, node.Path) // continues in the background
}

// breakSomething breaks the network or a session for a while. It runs in a
// bubble.
func (h *history) breakSomething(rng *rand.Rand) {
	link := zktest.Link{Client: fmt.Sprintf("user%d", rng.IntN(3))}
	dir := zktest.Direction(rng.IntN(3))
	switch rng.IntN(7) {
	case 0:
		h.srv.CutLink(link)
	case 1:
		h.srv.BlackHole(link, dir)
	case 2:
		h.srv.Delay(link, dir, time.Duration(rng.IntN(3000))*time.Millisecond)
	case 3:
		if all := h.srv.Sessions(); len(all) > 0 {
			_ = h.srv.ExpireSession(all[rng.IntN(len(all))].ID) // the session may be gone by now
		}
	case 4:
		must(h.srv.Freeze(1))
	case 5:
		must(h.srv.Stop(1))
	case 6:
		h.srv.FailNth(nil, 1+rng.IntN(5), zktest.Action{Do: []zktest.Fault{
			zktest.DropRequest, zktest.CutBefore, zktest.DropReplyCut, zktest.CutAfter, zktest.DropReplyHole, zktest.ExpireAfter,
		}[rng.IntN(6)]})
	}
	time.Sleep(time.Duration(rng.IntN(12_000)) * time.Millisecond)
	h.srv.Heal()
	must(h.srv.Thaw(1))
	must(h.srv.Restart(1))
}

// In a random history no acknowledged write is missing, none is applied twice,
// and nothing is left behind.
func TestRandomHistoriesAddUp(t *testing.T) {
	acknowledged, unknown := 0, 0
	for _, seed := range seeds(t, rounds(60)) {
		inWorld(t, nil, nil, func(w *world) {
			h := &history{world: w}
			w.createNode("/counter", "")
			w.createNode("/nodes", "")
			ctx, stop := context.WithCancel(w.ctx)
			var users sync.WaitGroup
			var clients []*Client
			for i := range 3 {
				c := w.connect(fmt.Sprintf("user%d", i), nil)
				clients = append(clients, c)
				// Waited for below; ends with ctx.
				users.Go(func() { h.user(ctx, rand.New(rand.NewPCG(seed, uint64(i))), c) })
			}
			rng := rand.New(rand.NewPCG(seed, 99))
			for range 6 {
				w.sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
				h.breakSomething(rng)
			}
			stop()
			users.Wait()
			w.sleep(2 * time.Minute)
			node, err := w.srv.Get("/counter")
			require.NoError(w, err)
			assert.GreaterOrEqual(w, int(node.Version), h.sets, "seed %d: an acknowledged write is missing", seed)
			assert.LessOrEqual(w, int(node.Version), h.sets+h.unknown, "seed %d: a write was applied twice or denied wrongly", seed)
			left, err := w.srv.Children("/nodes")
			require.NoError(w, err)
			assert.Empty(w, left, "seed %d", seed)
			for _, c := range clients {
				s := w.session(c)
				_, there, err := s.Exists(w.ctx, "/counter")
				require.NoError(w, err, "seed %d: all clients are back", seed)
				assert.True(w, there)
				w.close(c)
			}
			acknowledged, unknown = acknowledged+h.sets, unknown+h.unknown
		})
	}
	t.Logf("%d writes acknowledged, %d of unknown outcome", acknowledged, unknown)
	assert.Positive(t, acknowledged)
	if os.Getenv("ZKTEST_SEED") == "" { // a single history may be short
		assert.Greater(t, acknowledged, 100)
		assert.Positive(t, unknown, "the faults must hit writes")
	}
}
