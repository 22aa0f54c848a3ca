package ensemble

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func TestEventsThatAClientMissedAreSentTogetherBeforeTheAnswer(t *testing.T) {
	f := newFixture(1)
	p := f.connect(1, 10*time.Second, nil)
	var paths []string
	for i := range 1000 {
		path := fmt.Sprintf("/n%04d", i)
		require.Equal(t, proto.OK, p.call(t, proto.OpCreate, path).code)
		paths = append(paths, path)
	}
	p.order, p.sends = nil, 0
	p.conn.Submit(proto.Request{Xid: -8, Op: proto.OpSetWatches, Watches: proto.SetWatches{Data: paths}}, nil)
	require.Len(t, p.order, 1001)
	require.Equal(t, proto.XidWatch, p.order[999])
	require.EqualValues(t, -8, p.order[1000])
	require.Equal(t, 2, p.sends, "a step of the loop for each event delays all clients")
}

func TestConnectionsWithoutASessionAreClosed(t *testing.T) {
	f := newFixture(1)
	silent := &peer{f: f, open: true, answers: map[int32]answer{}}
	silent.conn = f.Node(1).Accept(silent, "10.0.0.1")
	f.clock.advance(5 * time.Second)
	served := f.connect(1, 10*time.Second, nil)
	f.clock.advance(SessionlessTimeout - 6*time.Second)
	require.True(t, silent.open)
	require.Equal(t, proto.OK, served.call(t, proto.OpCreate, "/a").code)
	f.clock.advance(2 * time.Second)
	require.False(t, silent.open)
	require.Len(t, f.Node(1).Conns(), 1)
	f.clock.advance(4 * time.Second)
	require.True(t, served.open, "only those without a session")
}

func TestConnectionWhoseSessionCannotBeginIsClosedAfterItsTimeout(t *testing.T) {
	f := newFixture(3)
	f.clock.advance(time.Second)
	follower := 1 + f.Leader().Index()%3
	f.CutLink(f.Leader().Index(), follower)
	p := f.connect(follower, 4*time.Second, nil)
	f.clock.advance(3 * time.Second)
	require.True(t, p.open)
	require.False(t, p.conn.Ready())
	f.clock.advance(2 * time.Second)
	require.False(t, p.open)
}
