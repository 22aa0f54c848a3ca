package txnlog_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// FuzzReader: any bytes end with the end so far or with damage at the reader's
// offset, offsets only grow, and a second reading has the same result.
func FuzzReader(f *testing.F) {
	for _, kind := range goldenKinds {
		b, err := os.ReadFile(filepath.Join("testdata", "zookeeper-3.8.0", kind.name, "log.100000001"))
		require.NoError(f, err)
		f.Add(b[:3000])
	}
	f.Add(newImage().sets(1, 3).padded(30))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := txnlog.NewReader(bytes.NewReader(b), "log.1")
		for {
			var txn txnlog.Txn
			before := r.Offset()
			err := r.Next(&txn)
			var damage *txnlog.DamageError
			switch {
			case err == nil:
				if r.Offset() <= before || txn.At.Offset+txn.Size != r.Offset() || r.Offset() > int64(len(b)) {
					t.Fatalf("offset %d after %d, record %v of %d bytes", r.Offset(), before, txn.At, txn.Size)
				}
			case errors.Is(err, io.EOF):
				if !errors.Is(r.Next(&txn), io.EOF) {
					t.Fatal("the end is not the end")
				}
				return
			case errors.As(err, &damage):
				if damage.At.Offset != r.Offset() {
					t.Fatalf("%v at offset %d", damage, r.Offset())
				}
				if !r.Skip(damage) {
					return
				}
			default:
				t.Fatal(err)
			}
		}
	})
}

// FuzzSnapshot: any bytes end with io.EOF or with damage.
func FuzzSnapshot(f *testing.F) {
	for _, path := range goldenSnapshots(f) {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(b, filepath.Ext(path))
	}
	f.Add(snapshotImage([]byte("x")), "")
	f.Fuzz(func(t *testing.T, b []byte, ext string) {
		_, err := readSnapshot(bytes.NewReader(b), "snapshot.1"+ext)
		var damage *txnlog.DamageError
		if !errors.Is(err, io.EOF) && !errors.As(err, &damage) {
			t.Fatal(err)
		}
	})
}
