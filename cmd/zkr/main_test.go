//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
)

// The test binary is zkr when asZkr is in its environment, and a command under
// zkr when its first argument is one of the helpers.
const (
	asZkr      = "ZKR_TEST_AS_ZKR"
	patient    = "patiently" // completes without a limit of time
	helpBeat   = "helper-beat"
	helpDaemon = "helper-daemon"
	helpCount  = "helper-count"
)

// heedSignals makes the usual signals end the commands that tests start, also
// when the tests themselves run in the background or under nohup, where these
// signals are ignored: a caught signal is the default again in started
// processes.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helpBeat {
		beat(os.Args[2:])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == helpDaemon {
		daemon(os.Args[2:])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == helpCount {
		countTerms(os.Args[2])
		return
	}
	if mode := os.Getenv(asZkr); mode != "" {
		a := ofThisProcess()
		if mode == patient {
			a.CompletionLimit = limit
		}
		os.Exit(a.run(context.Background(), os.Args[1:]))
	}
	heedSignals()
	world.ParseFlags()
	beside := 40 // they wait more than they work
	if testing.Short() {
		beside = 24 // but less so with the race detector
	}
	world.Beside(beside)
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// bed is a server over TCP, and zkr processes that use the server.
type bed struct {
	*testing.T
	srv *zktest.Server
	ctx context.Context

	// mu guards applied: the committed transactions, in order.
	mu      sync.Mutex
	applied []zktest.Txn
}

// limit bounds the waits of tests; no working step takes so long, on any
// machine.
const limit = 2 * time.Minute

// patience is how long a zkr waits for an available server, unless the test
// says otherwise.
const patience = time.Minute

// tick is the servers' tick: sessions of 1 s to longest. Sessions that a test
// does not want to lose are that long, since a busy machine stands still for
// seconds.
const tick, longest = 500 * time.Millisecond, 40 * time.Second

// newBed starts a server for a test, which runs beside others: mostly they wait
// for sessions to expire.
func newBed(t *testing.T) *bed { t.Helper(); return newBedOf(t, 1) }

// newBedOf starts an ensemble of n servers.
func newBedOf(t *testing.T, servers int) *bed {
	t.Helper()
	return newBedWith(t, &zktest.Options{Servers: servers, MaxSessionTimeout: longest})
}

// newBedWith starts a bed with these options.
func newBedWith(t *testing.T, o *zktest.Options) *bed {
	t.Helper()
	t.Parallel()
	o.TickTime, o.Addr = tick, world.OwnAddress()
	srv, err := zktest.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 3*limit)
	t.Cleanup(cancel)
	b := &bed{T: t, srv: srv, ctx: ctx}
	srv.OnApply(func(txn zktest.Txn) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.applied = append(b.applied, txn)
	})
	return b
}

// zkrProcess is a zkr that runs, or has run.
type zkrProcess struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err *text
	over     chan struct{}
	code     int
	at       time.Time // of the end
}

// text is output that can be read while a process writes.
type text struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (w *text) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// command prepares a zkr for the bed's server.
func (b *bed) command(args ...string) *exec.Cmd { return command(b.srv.Addr(), args...) }

// command prepares a zkr. Its environment has nothing of zkr's but the servers.
func command(servers string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ZKR_") && !strings.HasPrefix(e, "NO_COLOR") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, asZkr+"=1", "ZKR_SERVERS="+servers, "ZKR_CONNECT_TIMEOUT="+patience.String())
	return cmd
}

// ofTests reports whether command adds a variable.
func ofTests(key string) bool {
	return key == asZkr || key == "ZKR_SERVERS" || key == "ZKR_CONNECT_TIMEOUT"
}

// start starts a zkr; the end of the test kills the process.
func start(t *testing.T, cmd *exec.Cmd) *zkrProcess {
	t.Helper()
	z := &zkrProcess{t: t, cmd: cmd, out: &text{}, err: &text{}, over: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = z.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = z.err
	}
	cmd.WaitDelay = 15 * time.Second // a command that outlives zkr has zkr's stdout
	require.NoError(t, cmd.Start())
	// Waited for through over; ends with the process.
	go func() {
		_ = cmd.Wait()
		z.code, z.at = cmd.ProcessState.ExitCode(), time.Now()
		close(z.over)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		<-z.over
	})
	return z
}

// start starts a zkr against the bed's server.
func (b *bed) start(args ...string) *zkrProcess { b.Helper(); return start(b.T, b.command(args...)) }

// run runs a zkr to its end.
func (b *bed) run(args ...string) *zkrProcess { b.Helper(); return b.start(args...).wait() }

// wait waits for the end.
func (z *zkrProcess) wait() *zkrProcess {
	z.t.Helper()
	select {
	case <-z.over:
	case <-time.After(limit):
		z.t.Fatalf("zkr does not end; it said:\n%s%s", z.out, z.err)
	}
	z.documented()
	return z
}

// documented requires that the command's help has the exit code. A zkr that
// runs a command may exit as the command does.
func (z *zkrProcess) documented() {
	z.t.Helper()
	cmd, _, err := (&app{}).root().Find(z.cmd.Args[1:])
	if err != nil || cli.RunsCommand(cmd) || cmd.Hidden || z.code < 0 || z.code > exit.CodeSignal {
		return
	}
	for _, e := range cli.CodesOf(cmd) {
		if e.Code == z.code {
			return
		}
	}
	z.t.Errorf("the help of %q has no exit code %d; it said:\n%s%s", cmd.CommandPath(), z.code, z.out, z.err)
}

// ends wants the zkr to end with this code.
func (z *zkrProcess) ends(code int) *zkrProcess {
	z.t.Helper()
	z.wait()
	require.Equal(z.t, code, z.code, "stdout:\n%s\nstderr:\n%s", z.out, z.err)
	return z
}

// inside runs a zkr in this process, for checks before the first request:
// hundreds of processes spend most of their time at the start.
func inside(t *testing.T, cmd *exec.Cmd) *zkrProcess {
	t.Helper()
	z := &zkrProcess{t: t, cmd: cmd, out: &text{}, err: &text{}, over: make(chan struct{})}
	files := map[*os.File]*text{}
	stream := func(to *text) *os.File {
		f, err := os.CreateTemp(t.TempDir(), "stream")
		require.NoError(t, err)
		files[f] = to
		return f
	}
	env := func(key string) (value string) {
		for _, e := range cmd.Env {
			if v, ok := strings.CutPrefix(e, key+"="); ok {
				value = v // the last value counts, as in a process
			}
		}
		return value
	}
	a := &app{App: cli.App{Stdin: stream(&text{}), Stdout: stream(z.out), Stderr: stream(z.err), Getenv: env}}
	if env(asZkr) == patient {
		a.CompletionLimit = limit
	}
	z.code = a.run(t.Context(), cmd.Args[1:])
	for f, to := range files {
		_, err := f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		_, err = io.Copy(to, f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	close(z.over)
	return z
}

// running wants the zkr not to have ended.
func (z *zkrProcess) running() {
	z.t.Helper()
	select {
	case <-z.over:
		z.t.Fatalf("zkr has ended with %d; it said:\n%s%s", z.code, z.out, z.err)
	default:
	}
}

// signal sends zkr, and no other process, a signal.
func (z *zkrProcess) signal(sig syscall.Signal) {
	z.t.Helper()
	require.NoError(z.t, z.cmd.Process.Signal(sig))
}

// says waits until stdout contains a text.
func (z *zkrProcess) says(what string) {
	z.t.Helper()
	if !soon(func() bool { return strings.Contains(z.out.String(), what) }) {
		z.t.Fatalf("it never says %q; it said:\n%s%s", what, z.out, z.err)
	}
}

// warns waits until stderr contains a text: what a process has written before may arrive later than
// what it writes to stdout, or over the network, afterwards.
func (z *zkrProcess) warns(what string) {
	z.t.Helper()
	if !soon(func() bool { return strings.Contains(z.err.String(), what) }) {
		z.t.Fatalf("it never warns %q; it said:\n%s%s", what, z.out, z.err)
	}
}

func eventually(t *testing.T, cond func() bool, format string, args ...any) {
	t.Helper()
	if !soon(cond) {
		t.Fatalf("not within %v: "+format, append([]any{limit}, args...)...)
	}
}

// soon waits until cond is true, within limit. The pauses grow: some conditions
// run a process, and the awaited process needs the processor, too.
func soon(cond func() bool) bool {
	const often, seldom = time.Millisecond, 50 * time.Millisecond
	begun := time.Now()
	for pause := often; !cond(); pause = min(2*pause, seldom) {
		if time.Since(begun) > limit {
			return false
		}
		<-time.After(pause)
	}
	return true
}

// contenders are the names below a lock.
func (b *bed) contenders(path string) []string {
	names, err := b.srv.Children(path)
	if err != nil {
		require.ErrorIs(b, err, zktest.ErrNoNode)
	}
	return names
}

// queued waits until n contenders hold or wait.
func (b *bed) queued(path string, n int) {
	b.Helper()
	eventually(b.T, func() bool { return len(b.contenders(path)) == n }, "%d contenders of %s", n, path)
}

// owner is the session of the only contender of a lock.
func (b *bed) owner(path string) (session int64, znode string) {
	b.Helper()
	b.queued(path, 1)
	node, err := b.srv.Get(path + "/" + b.contenders(path)[0])
	require.NoError(b, err)
	return node.EphemeralOwner, node.Path
}

// freed is when the server removed the znode, and so granted the lock to the
// next contender; freed waits for the removal.
func (b *bed) freed(owner int64, znode string) time.Time {
	b.Helper()
	var at time.Time
	eventually(b.T, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, t := range b.applied {
			if t.Code == 0 && (t.Op == "closeSession" && t.Session == owner || t.Op == "delete" && t.Paths[0] == znode) {
				at = t.At
				return true
			}
		}
		return false
	}, "the server removes %s", znode)
	return at
}

// client is a client of the library.
func (b *bed) client() *session.Client {
	b.Helper()
	c, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{Timeout: longest})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// takeLock takes a lock as another client.
func (b *bed) takeLock(path string) *lock.Held {
	b.Helper()
	h, err := lock.New(b.client(), path, nil).Lock(b.ctx)
	require.NoError(b, err)
	return h
}
