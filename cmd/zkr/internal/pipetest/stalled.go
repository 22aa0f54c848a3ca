// Package pipetest makes pipes for tests.
package pipetest

import (
	"errors"
	"os"
	"testing"
	"time"
)

// Stalled is a full pipe, like the pipe of a pager or a stopped terminal: a
// writer waits until the test reads.
func Stalled(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	err = w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	for err == nil {
		_, err = w.Write(make([]byte, 512))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("fill a pipe: %v", err)
	}
	return r, w
}
