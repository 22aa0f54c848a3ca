package tree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// TestQuotasAreCountedAndEnforced, also by a copied replica.
func TestQuotasAreCountedAndEnforced(t *testing.T) {
	w := newWorld()
	put := func(path, data string) proto.Code {
		_, _, code := w.applyRequest(&Caller{Session: 7, Quotas: true}, &proto.Request{Op: proto.OpCreate, Path: path, Data: []byte(data)})
		return code
	}
	stats := func() string { return string(w.Get("/zookeeper/quota/a/zookeeper_stats").Data) }
	require.Equal(t, proto.OK, put("/a", "12345"))
	require.Equal(t, proto.OK, put("/zookeeper/quota/a", ""))
	require.Equal(t, proto.OK, put("/zookeeper/quota/a/zookeeper_limits", "countHardLimit=2,byteHardLimit=9"))
	require.Equal(t, proto.OK, put("/a/early", "1"), "without statistics there is nothing to compare")
	require.Equal(t, proto.OK, w.deleteNode("/a/early", -1))
	require.Equal(t, proto.OK, put("/zookeeper/quota/a/zookeeper_stats", ""))
	require.Equal(t, "count=1,bytes=5", stats())
	require.Equal(t, proto.QuotaExceeded, put("/a/b", "67890"))
	require.Equal(t, proto.OK, put("/a/b", "6789"))
	w.Tree = w.Clone()
	require.Equal(t, proto.QuotaExceeded, put("/a/c", ""))
	require.Equal(t, proto.OK, put("/ab", "beside"))
	require.Equal(t, "count=2,bytes=9", stats())
	require.Zero(t, w.Get("/zookeeper/quota/a/zookeeper_stats").Stat().Version)
	_, _, code := w.applyRequest(&Caller{Admin: true, Quotas: true}, &proto.Request{Op: proto.OpCreate, Path: "/a/c"})
	require.Equal(t, proto.OK, code, "the administrator")
	require.Equal(t, "count=3,bytes=9", stats())
}

func TestLimitsAreReadAndWrittenAsApacheDoes(t *testing.T) {
	for data, want := range map[string]string{
		"":                           "count=-1,bytes=-1",
		"count=5":                    "count=5,bytes=-1",
		"bytes=7;x=1,a=2,,;count=-3": "count=-3,bytes=7;a=2;x=1",
		"nonsense":                   "count=-1,bytes=-1",
	} {
		require.Equal(t, want, string(readTrack([]byte(data)).encode()), data)
	}
}
