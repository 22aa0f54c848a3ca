//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestMain is the program itself when it is told so.
func TestMain(m *testing.M) {
	if os.Getenv("WORDCOUNT") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// worker is a process.
type worker struct {
	*subprocess.Process
	lines <-chan string // the process's output; closed at its end
}

func startWorker(t *testing.T, servers, name, in, out string) *worker {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-servers", servers, "-workers", "3", "-name", name, "-in", in, "-out", out, "-pace", "50ms")
	cmd.Env = append(os.Environ(), "WORDCOUNT=1")
	cmd.Stderr = os.Stderr
	p, lines, err := subprocess.StartLines(cmd)
	require.NoError(t, err)
	return &worker{p, lines}
}

// await reads until the worker writes something that begins so.
func (w *worker) await(t *testing.T, begin string) string {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				t.Fatalf("it ended before it wrote %q", begin)
			}
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-limit.C:
			t.Fatalf("it does not write %q", begin)
		}
	}
}

// end waits for the worker's end.
func (w *worker) end(t *testing.T) {
	t.Helper()
	for range w.lines {
	}
	require.NoError(t, w.Wait())
}

func TestWordsAreCountedThoughWorkersAreKilled(t *testing.T) {
	// Worker 1 has these files; it is killed in the middle of its work, and when
	// it waits for the others.
	for _, at := range []string{"counted 01.txt", "counted 10.txt"} {
		t.Run(at, func(t *testing.T) {
			server, err := zktest.Start(nil)
			require.NoError(t, err)
			defer server.Close()
			in, out := t.TempDir(), t.TempDir()
			want := counts{}
			var held, pipe string
			for i := range 12 {
				text := strings.Repeat(fmt.Sprintf("Eins, zwei; wort%s\n", strings.Repeat("x", i)), i+1)
				file := filepath.Join(in, fmt.Sprintf("%02d.txt", i))
				if i == 2 {
					// Worker 2 reads it, and waits until it is written: until
					// then nothing is over.
					require.NoError(t, syscall.Mkfifo(file, 0o644))
					held, pipe = text, file
				} else {
					require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				}
				for _, word := range words(text) {
					want[word]++
				}
			}
			var crew []*worker
			ids := map[string]string{}
			for _, name := range []string{"a", "b", "c"} {
				w := startWorker(t, server.Addr(), name, in, out)
				ids[name] = w.await(t, "worker ")
				crew = append(crew, w)
			}
			crew[1].await(t, at)
			crew[1].Kill()
			_ = crew[1].Wait() // it was killed
			crew[1] = startWorker(t, server.Addr(), "b", in, out)
			again := crew[1].await(t, "worker ")
			require.Equal(t, strings.Replace(ids["b"], "incarnation 1", "incarnation 2", 1), again, "its old number")
			require.NoError(t, os.WriteFile(pipe, []byte(held), 0o644))
			for _, w := range crew {
				w.end(t)
			}
			got := counts{}
			text, err := os.ReadFile(filepath.Join(out, "words.txt"))
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				var word string
				var n int
				_, err := fmt.Sscan(line, &word, &n)
				require.NoError(t, err)
				got[word] = n
			}
			require.Equal(t, want, got)
			_, err = server.Get("/twister2/wordcount")
			require.ErrorIs(t, err, zktest.ErrNoNode, "the last one out has removed the job")
		})
	}
}

// A worker that would share the files out in another way than the others does not
// begin.
func TestAllSayTheSameNumberOfWorkers(t *testing.T) {
	server, err := zktest.Start(nil)
	require.NoError(t, err)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, err := session.Connect(ctx, server.Addr(), nil)
	require.NoError(t, err)
	defer client.Close(ctx)
	_, err = workerctl.Submit(ctx, client, workerctl.Spec{Name: "words", Workers: 3}, nil)
	require.NoError(t, err)
	err = run(ctx, settings{servers: server.Addr(), job: "words", name: "a", in: t.TempDir(), out: t.TempDir(), workers: 2}, io.Discard)
	require.ErrorContains(t, err, "-workers is 2, and the job has 3")
}

func TestWordsThatAreNoFlagsAreRefused(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "foo")
	cmd.Env = append(os.Environ(), "WORDCOUNT=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Equal(t, "wordcount: unexpected argument \"foo\"\n", string(out))
}

func TestServersAreThoseOfThisMachineUnlessSaid(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-h")
	cmd.Env = append(os.Environ(), "WORDCOUNT=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), `(default "127.0.0.1:2181")`, "as zkr and the other programs have it")
}
