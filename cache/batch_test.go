package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// sized is an answer with n bytes of data.
func sized(n int) *reply {
	return &reply{req: request{op: opGet}, seen: session.Seen{Data: make([]byte, n)}}
}

func TestBatchesGrowWithSmallDataAndShrinkWithLarge(t *testing.T) {
	b := newBatch()
	require.Equal(t, firstBatch, b.size)
	for range 20 {
		b.onReply(sized(100))
	}
	require.Equal(t, maxBatch, b.size)
	b.onReply(sized(batchBytes / 4))
	require.Equal(t, 4, b.size)
	b.onReply(sized(10 * batchBytes))
	require.Equal(t, 1, b.size)
	b.onReply(sized(0))
	require.Equal(t, 2, b.size)
	b.onReply(&reply{req: request{op: opStat}})
	b.onReply(&reply{req: request{op: opGet}, err: session.ErrNoNode})
	require.Equal(t, 2, b.size, "they say nothing about data")
	b.sendAlone()
	require.Equal(t, 1, b.size)
	b.onReply(sized(0))
	require.Equal(t, 1, b.size)
}

func TestBatchIsFullByItsNumberOrItsPaths(t *testing.T) {
	b := newBatch()
	for i := range firstBatch {
		require.Equal(t, i == firstBatch-1, b.add(request{n: &node{path: "/a"}}))
	}
	reqs, paths := b.takeRequests()
	require.Len(t, reqs, firstBatch)
	require.Len(t, paths, firstBatch)
	require.False(t, b.add(request{n: &node{path: "/a"}}), "it was emptied")
	require.True(t, b.add(request{n: &node{path: string(make([]byte, pathBytes))}}))
}
