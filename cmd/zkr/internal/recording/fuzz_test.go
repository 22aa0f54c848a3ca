package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// replay reads a folder, and requires what Reader promises of any files. It returns the
// transactions as text, and the data of the znodes at the end.
func replay(t *testing.T, dir string) (txns []string, nodes map[string]string) {
	f, err := OpenFolder("r", dir)
	require.NoError(t, err)
	r := f.Read(t.Context(), nil)
	defer func() { require.NoError(t, r.Close()) }()
	nodes = make(map[string]string)
	last, _, err := r.Start(func(z *Znode) { nodes[z.Path] = string(z.Data) })
	if err != nil {
		require.ErrorIs(t, err, ErrNoFiles)
		return nil, nil
	}
	for {
		txn, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.False(t, txn.Time.Before(last), "%v is before %v", txn.Time, last)
		require.NotEmpty(t, txn.Changes)
		last = txn.Time
		for _, ch := range txn.Changes {
			_, exists := nodes[ch.Path]
			if ch.Type == txnlog.TypeDelete {
				delete(nodes, ch.Path)
				continue
			}
			require.Equal(t, ch.Type == txnlog.TypeSetData, exists, "%v %s", ch.Type, ch.Path)
			require.GreaterOrEqual(t, ch.Size, len(ch.Data))
			nodes[ch.Path] = string(ch.Data)
		}
		txns = append(txns, fmt.Sprintf("%+v", txn.Changes))
	}
	require.False(t, r.Reached().Before(last))
	done, total := r.Progress()
	require.LessOrEqual(t, done, total)
	return txns, nodes
}

// requireFiles writes files with these contents, and requires that they can be read and
// continued: a second reading has the same result, and a writer's state is the last one.
func requireFiles(t *testing.T, files ...[]byte) {
	dir := t.TempDir()
	for i, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, nameOf(i+1)), text, 0o600))
	}
	txns, nodes := replay(t, dir)
	again, _ := replay(t, dir)
	require.Equal(t, len(txns), len(again))

	w, err := NewWriter(dir, "/", nil)
	if errors.Is(err, ErrOtherRoot) {
		return
	}
	require.NoError(t, err)
	w.sync = func(*os.File) error { return nil } // takes long
	end := znode("/end", 1, 0, "end")
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{end})), later(at(0), w.Earlier())))
	require.NoError(t, w.Close("stopped"))
	_, after := replay(t, dir)
	require.Equal(t, map[string]string{"/end": "end"}, after, "after %v", slices.Sorted(maps.Keys(nodes)))
}

// FuzzFile: any bytes are a file that is read up to its damage, and the files after it are
// read whole.
func FuzzFile(f *testing.F) {
	w := newFuzzWriter(f)
	text, err := os.ReadFile(filepath.Join(w.dir, nameOf(1)))
	require.NoError(f, err)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) { requireFiles(t, b, text) })
}

// FuzzRecords: any records with right checksums are read without contradictions. An empty
// line of the text begins the next file.
func FuzzRecords(f *testing.F) {
	w := newFuzzWriter(f)
	file, err := os.Open(filepath.Join(w.dir, nameOf(1)))
	require.NoError(f, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(f, err)
	lines, err := io.ReadAll(z)
	require.NoError(f, err)
	var text []byte
	for line := range bytes.Lines(lines) {
		text = append(append(text, line[:len(line)-1-crcSize]...), "}\n"...)
	}
	f.Add(text)
	f.Add(slices.Concat(text, []byte("\n"), text))
	// Differences whose moments are not the same.
	f.Add(fmt.Appendf(nil, `{"kind":"begin","at":"2026-11-26T03:00:00Z","version":1,"root":"/"}
{"kind":"ready","at":"2026-11-26T03:00:00Z"}
{"kind":"gone","at":"2026-11-26T03:00:01Z","after":"2026-11-26T03:00:00Z","path":"/a"}
{"kind":"gone","at":"2026-11-26T03:00:09Z","after":"2026-11-26T03:00:00Z","path":"/b"}
{"kind":"gone","at":"2026-11-26T03:00:02Z","path":"/c"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var files [][]byte
		for part := range bytes.SplitSeq(text, []byte("\n\n")) {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			for line := range bytes.SplitSeq(part, []byte("\n")) {
				line = bytes.TrimSuffix(line, []byte("}"))
				_, err := fmt.Fprintf(z, "%s%s%08x%s\n", line, crcField, crc32.Checksum(line, castagnoli), crcEnd)
				require.NoError(t, err)
			}
			require.NoError(t, z.Close())
			files = append(files, b.Bytes())
		}
		requireFiles(t, files...)
	})
}

// newFuzzWriter has written a file with a little of everything.
func newFuzzWriter(f *testing.F) *Writer {
	w, err := NewWriter(f.TempDir(), "/", nil)
	require.NoError(f, err)
	w.sync = func(*os.File) error { return nil }
	play(f, w)
	require.NoError(f, w.Close("stopped"))
	return w
}
