package ensemble

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// chaos is a run in which clients create nodes while servers break.
type chaos struct {
	*fixture
	rnd   *rand.Rand
	peers []*peer
	paths map[*peer]map[int32]string
	n     int
}

func (c *chaos) breakOrWrite() {
	i, j := 1+c.rnd.IntN(c.Len()), 1+c.rnd.IntN(c.Len())
	switch c.rnd.IntN(14) {
	case 0:
		c.CutLink(i, j)
	case 1:
		c.Join()
	case 2:
		c.Node(i).Stop()
	case 3:
		c.Node(i).Start()
	case 4:
		c.Node(i).Freeze()
	case 5:
		c.Node(i).Thaw()
	case 6:
		c.Node(i).SetLag(c.rnd.IntN(2) == 0)
	case 7, 8:
		if !c.Node(i).Frozen() {
			c.peers = append(c.peers, c.connect(i, 40*time.Second, nil))
		}
	default:
		for _, p := range c.peers {
			if p.open && p.session != 0 && !p.conn.Node().Frozen() {
				c.n++
				path := fmt.Sprintf("/n%d", c.n)
				if c.paths[p] == nil {
					c.paths[p] = map[int32]string{}
				}
				c.paths[p][p.send(proto.OpCreate, path)] = path
			}
		}
	}
	c.clock.advance(time.Duration(c.rnd.IntN(2000)) * time.Millisecond / time.Duration(1+c.rnd.IntN(100)))
	if c.rnd.IntN(10) == 0 {
		c.clock.advance(time.Duration(c.rnd.IntN(15)) * time.Second)
	}
}

func (c *chaos) healAll() {
	c.Join()
	for i := 1; i <= c.Len(); i++ {
		c.Node(i).Thaw()
		c.Node(i).Start()
		c.Node(i).SetLag(false)
	}
	c.clock.advance(2 * time.Minute)
}

func listTree(t *tree.Tree) string {
	var b strings.Builder
	for _, p := range t.Paths() {
		fmt.Fprintf(&b, "%s %+v\n", p, t.Get(p).Stat())
	}
	fmt.Fprintf(&b, "sessions %v, last 0x%x", len(t.Sessions()), t.LastZxid())
	return b.String()
}

func TestNoAcknowledgedWriteIsLostWhateverBreaks(t *testing.T) {
	acknowledged, unanswered := 0, 0
	for seed := range uint64(100) {
		size := 3 + 2*int(seed%2)
		c := &chaos{fixture: newFixture(size), rnd: rand.New(rand.NewPCG(seed, 1)), paths: map[*peer]map[int32]string{}}
		for range 120 {
			c.breakOrWrite()
		}
		c.healAll()

		require.NotNil(t, c.Leader(), "seed %d", seed)
		want := listTree(c.Leader().Tree())
		for i := 1; i <= size; i++ {
			require.True(t, c.Node(i).Serving(), "seed %d server %d", seed, i)
			require.Equal(t, want, listTree(c.Node(i).Tree()), "seed %d server %d", seed, i)
		}
		last := int64(0)
		for _, txn := range c.txns {
			require.Greater(t, txn.Zxid, last, "seed %d: announced out of order or twice", seed)
			last = txn.Zxid
		}
		for p, paths := range c.paths {
			for k := 1; k < len(p.order); k++ {
				require.Less(t, p.order[k-1], p.order[k], "seed %d: answers out of order", seed)
			}
			for xid, path := range paths {
				a, ok := p.answers[xid]
				if !ok {
					unanswered++
					continue
				}
				acknowledged++
				require.Equal(t, a.code == proto.OK, c.Leader().Tree().Get(path) != nil, "seed %d: %s", seed, path)
			}
		}
	}
	t.Logf("%d acknowledged, %d unanswered", acknowledged, unanswered)
	require.Greater(t, acknowledged, 1000)
	require.Greater(t, unanswered, 100, "the run breaks nothing")
}

func TestThereAreNeverTwoLeadersThatCommit(t *testing.T) {
	for seed := range uint64(60) {
		c := &chaos{fixture: newFixture(5), rnd: rand.New(rand.NewPCG(seed, 2)), paths: map[*peer]map[int32]string{}}
		for range 100 {
			c.breakOrWrite()
			able := 0
			for i := 1; i <= 5; i++ {
				n := c.Node(i)
				if n.lead == nil {
					continue
				}
				held := 1
				for _, p := range n.lead.peers {
					if p.atFollower() {
						held++
					}
				}
				if held >= c.quorum() {
					able++
				}
			}
			require.LessOrEqual(t, able, 1, "seed %d", seed)
		}
	}
}
