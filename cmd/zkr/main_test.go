package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.uber.org/goleak"
)

// The test binary is zkr when asZkr is in its environment, and a command under
// zkr when its first argument is one of the helpers.
const (
	asZkr      = "ZKR_TEST_AS_ZKR"
	helpBeat   = "helper-beat"
	helpDaemon = "helper-daemon"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helpBeat {
		beat(os.Args[2:])
		return
	}
	if len(os.Args) > 2 && os.Args[1] == helpDaemon {
		daemon(os.Args[2:])
		return
	}
	if os.Getenv(asZkr) != "" {
		main()
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8") // they wait more than they work
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// beat writes the time and the token into a file until it is killed, or until
// somebody asks it to end, whom it ignores if it is told "stubborn".
func beat(args []string) {
	if len(args) > 1 && args[1] == "stubborn" {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range time.Tick(2 * time.Millisecond) {
		fmt.Fprintln(f, time.Now().UnixNano(), os.Getenv("ZKR_LOCK_TOKEN"))
	}
}

// daemon starts a stubborn beat in a session of its own, as daemons do, and
// ends. zkr is not its parent any more then.
func daemon(args []string) {
	cmd := exec.Command(os.Args[0], helpBeat, args[0], "stubborn")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bed is a server over TCP, and zkr processes that use it.
type bed struct {
	*testing.T
	srv *zktest.Server
	ctx context.Context

	// mu guards applied: what the server has committed, in order.
	mu      sync.Mutex
	applied []zktest.Txn
}

// limit bounds what a test waits for; nothing that works takes so long.
const limit = 40 * time.Second

// tick is the servers' tick: sessions of 1 s to 10 s.
const tick = 500 * time.Millisecond

// newBed starts a server for a test, which runs beside others: mostly they wait
// for sessions to expire.
func newBed(t *testing.T) *bed { t.Helper(); return newBedOf(t, 1) }

// newBedOf starts an ensemble of so many servers.
func newBedOf(t *testing.T, servers int) *bed {
	t.Helper()
	t.Parallel()
	srv, err := zktest.Start(&zktest.Options{TickTime: tick, Servers: servers})
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
	at       time.Time // when it was over
}

// text is output that can be read while it is written.
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

// command prepares a zkr that runs against the bed's server.
func (b *bed) command(args ...string) *exec.Cmd { return command(b.srv.Addr(), args...) }

// command prepares a zkr. Its environment has nothing of zkr's but the servers.
func command(servers string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "ZKR_") && !strings.HasPrefix(e, "NO_COLOR") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, asZkr+"=1", "ZKR_SERVERS="+servers)
	return cmd
}

// start starts a zkr; when the test ends it is killed if it still runs.
func start(t *testing.T, cmd *exec.Cmd) *zkrProcess {
	t.Helper()
	z := &zkrProcess{t: t, cmd: cmd, out: &text{}, err: &text{}, over: make(chan struct{})}
	if cmd.Stdout == nil {
		cmd.Stdout = z.out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = z.err
	}
	cmd.WaitDelay = 5 * time.Second // a command that outlives zkr has its stdout
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
	return z
}

// ends wants the zkr to end with this code.
func (z *zkrProcess) ends(code int) *zkrProcess {
	z.t.Helper()
	z.wait()
	require.Equal(z.t, code, z.code, "stdout:\n%s\nstderr:\n%s", z.out, z.err)
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

// signal sends zkr, and nobody else, a signal.
func (z *zkrProcess) signal(sig syscall.Signal) {
	z.t.Helper()
	require.NoError(z.t, z.cmd.Process.Signal(sig))
}

// says waits until stdout has what.
func (z *zkrProcess) says(what string) {
	z.t.Helper()
	eventually(z.t, func() bool { return strings.Contains(z.out.String(), what) }, "stdout has %q", what)
}

func eventually(t *testing.T, cond func() bool, format string, args ...any) {
	t.Helper()
	require.Eventually(t, cond, limit, 5*time.Millisecond, append([]any{format}, args...)...)
}

// contenders are the names below a lock.
func (b *bed) contenders(path string) []string {
	names, err := b.srv.Children(path)
	if err != nil {
		require.ErrorIs(b, err, zktest.ErrNoNode)
	}
	return names
}

// queued waits until so many hold or wait.
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
// next; it waits for that.
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
	c, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{Timeout: 4 * time.Second})
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// take takes a lock as somebody else.
func (b *bed) take(path string) *lock.Held {
	b.Helper()
	h, err := lock.New(b.client(), path, nil).Lock(b.ctx)
	require.NoError(b, err)
	return h
}

// beats are the times that a beat has written so far.
func beats(t *testing.T, file string) []time.Time {
	t.Helper()
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var out []time.Time
	for line := range strings.Lines(string(data)) {
		nano, _, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(nano, 10, 64)
		if err == nil && strings.HasSuffix(line, "\n") {
			out = append(out, time.Unix(0, n))
		}
	}
	return out
}

// beating waits until a beat has begun.
func beating(t *testing.T, file string) {
	t.Helper()
	eventually(t, func() bool { return len(beats(t, file)) > 3 }, "a heart beats in %s", file)
}

// silent wants that nobody writes into file any more, and returns the last
// beat.
func silent(t *testing.T, file string) time.Time {
	t.Helper()
	all := beats(t, file)
	require.NotEmpty(t, all)
	require.Never(t, func() bool { return len(beats(t, file)) > len(all) }, 100*time.Millisecond, 20*time.Millisecond, "a heart still beats in %s", file)
	return all[len(all)-1]
}
