package txnlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// mergeOf merges servers with the given logs.
func mergeOf(t *testing.T, found *findings, servers ...map[string][]byte) *txnlog.Merge {
	t.Helper()
	var folders []*txnlog.Folder
	for i, logs := range servers {
		folders = append(folders, openDir(t, string(rune('a'+i)), serverDir(t, logs)))
	}
	m, err := txnlog.NewMerge(found.options(), folders...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// Servers rotate and purge their logs at different transactions, and end at
// different ones; an epoch's change is no gap.
func TestMergeOfServersThatAgree(t *testing.T) {
	var found findings
	m := mergeOf(t, &found,
		map[string][]byte{"log.1": newImage().sets(1, 9).padded(50), "log.100000001": newImage().sets(0x100000001, 0x100000004).Bytes},
		map[string][]byte{"log.1": newImage().sets(1, 4).Bytes, "log.5": newImage().sets(5, 9).padded(7)},
		map[string][]byte{"log.7": newImage().sets(7, 9).Bytes, "log.100000001": newImage().sets(0x100000001, 0x100000002).Bytes})
	require.Equal(t, append(between(1, 9), between(0x100000001, 0x100000004)...), zxids(t, m))
	require.Empty(t, found)
	require.Equal(t, []string{"a", "b", "c"}, m.Have(8))
	require.Equal(t, []string{"a", "b"}, m.Have(3))
	require.Empty(t, m.Have(0x10))
	done, total := m.Progress()
	require.Equal(t, done, total)
}

func TestMergeReportsWhatServersLack(t *testing.T) {
	lacking := newImage().sets(1, 4)
	at := lacking.sets(9, 9)
	at.sets(10, 12)
	var found findings
	m := mergeOf(t, &found,
		map[string][]byte{"log.1": newImage().sets(1, 10).Bytes},
		map[string][]byte{"log.1": lacking.Bytes, "snapshot.8": nil},
		map[string][]byte{"log.1": newImage().sets(1, 6).Bytes})
	require.Equal(t, between(1, 12), zxids(t, m))
	require.Equal(t, []txnlog.Kind{txnlog.Missing, txnlog.Missing}, found.kinds(), "%v", found)
	require.Equal(t, "b", found[0].Server)
	require.EqualValues(t, 5, found[0].From)
	require.EqualValues(t, 6, found[0].To)
	require.Equal(t, []string{"a", "c"}, found[0].Has)
	require.EqualValues(t, 7, found[1].From)
	require.EqualValues(t, 8, found[1].To)
	require.Equal(t, []string{"a"}, found[1].Has)
	require.Contains(t, found[1].Snapshot, "snapshot.8")
	require.Len(t, found[0].At, 3)
}

// A transaction that only one server logged, as a leader that crashed before
// sending it, when its log goes on with the transactions of the next epoch.
func TestMergeReportsATransactionThatOthersNeverHad(t *testing.T) {
	var found findings
	epoch := newImage().sets(0x100000001, 0x100000003).Bytes
	m := mergeOf(t, &found,
		map[string][]byte{"log.1": newImage().sets(1, 6).Bytes, "log.100000001": epoch},
		map[string][]byte{"log.1": newImage().sets(1, 5).Bytes, "log.100000001": epoch},
		map[string][]byte{"log.1": newImage().sets(1, 5).Bytes, "log.100000001": epoch})
	require.Equal(t, append(between(1, 6), between(0x100000001, 0x100000003)...), zxids(t, m))
	require.Equal(t, []txnlog.Kind{txnlog.Missing, txnlog.Missing}, found.kinds())
	for i, server := range []string{"b", "c"} {
		require.Equal(t, server, found[i].Server)
		require.EqualValues(t, 6, found[i].From)
		require.Equal(t, []string{"a"}, found[i].Has)
	}
}

func TestMergeReportsDifferentContents(t *testing.T) {
	other := newImage().sets(1, 2)
	at := other.set(3, "another value")
	other.sets(4, 5)
	var found findings
	m := mergeOf(t, &found,
		map[string][]byte{"log.1": newImage().sets(1, 5).Bytes}, map[string][]byte{"log.1": newImage().sets(1, 5).Bytes}, map[string][]byte{"log.1": other.Bytes})
	require.Equal(t, between(1, 5), zxids(t, m))
	require.Equal(t, []txnlog.Kind{txnlog.Conflict}, found.kinds())
	require.Equal(t, "c", found[0].Server)
	require.EqualValues(t, 3, found[0].From)
	require.Equal(t, []string{"a", "b"}, found[0].Has)
	require.Equal(t, at, found[0].At[1].Offset)
}

// No server has zxid 4, and one server's log is damaged: the others have what it
// lost.
func TestMergeReportsGapsAndDamage(t *testing.T) {
	bad := newImage().sets(1, 2)
	bad.Bytes[len(bad.Bytes)-3] ^= 1
	bad.sets(3, 3).sets(5, 6)
	var found findings
	m := mergeOf(t, &found, map[string][]byte{"log.1": newImage().sets(1, 3).sets(5, 6).Bytes}, map[string][]byte{"log.1": bad.Bytes})
	require.Equal(t, append(between(1, 3), 5, 6), zxids(t, m))
	require.Equal(t, []txnlog.Kind{txnlog.Damaged, txnlog.Missing, txnlog.Gap}, found.kinds(), "%v", found)
	require.EqualValues(t, 4, found[2].From)
	require.EqualValues(t, 2, found[1].From)
}

// While servers run, one may lag behind the others.
func TestMergeFollowsServersThatLag(t *testing.T) {
	a, b := serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 3).Bytes}), serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 1).Bytes})
	var found findings
	m, err := txnlog.NewMerge(found.options(), openDir(t, "a", a), openDir(t, "b", b))
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, between(1, 3), zxids(t, m))
	writeFile(t, a, "log.1", newImage().sets(1, 6).Bytes)
	writeFile(t, b, "log.1", newImage().sets(1, 4).Bytes)
	require.Equal(t, between(4, 6), zxids(t, m))
	require.Equal(t, []string{"a", "b"}, m.Have(2))
	require.Empty(t, found)
	lost := newImage().sets(1, 4).sets(6, 7)
	writeFile(t, b, "log.1", lost.Bytes)
	require.Equal(t, between(7, 7), zxids(t, m))
	require.Equal(t, []txnlog.Kind{txnlog.Missing}, found.kinds(), "%v", found)
	require.EqualValues(t, 5, found[0].From)
	require.Equal(t, "b", found[0].Server)
}

func TestMergeOfTooManyOrNoFolders(t *testing.T) {
	_, err := txnlog.NewMerge(nil)
	require.ErrorContains(t, err, "1 to 64, got 0")
	_, err = txnlog.NewMerge(nil, make([]*txnlog.Folder, 65)...)
	require.Error(t, err)
}
