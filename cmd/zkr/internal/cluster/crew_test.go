//go:build unix

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// standInMode makes this program a stand-in for a node: the stand-in answers
// HTTP requests, knows nothing of ZooKeeper, and ends with its stdin. The modes
// are "node"; "silent", which never reports being ready; "chatty", with much
// other output; and the tick of a server, for a real node on this server.
const standInMode = "ZKR_TEST_STAND_IN"

func standIn(mode string) {
	name, address := os.Args[1], os.Args[2]
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ready, _ := json.Marshal(Ready{Name: name, Address: l.Addr().String(), PID: os.Getpid()})
	if mode == "chatty" {
		fmt.Println("hello\n{}\n{\"address\":7}\n[")
	}
	if mode != "silent" {
		fmt.Println(string(ready))
	}
	if mode == "chatty" {
		fmt.Println("more\x00words")
	}
	if ticks, err := time.ParseDuration(mode); err == nil {
		n, err := NewNode(name, l.Addr().String(), connect(os.Args[3], 20*ticks, ticks))
		if err != nil {
			panic(err)
		}
		// No test waits for this goroutine; it ends with the process.
		go func() { _ = http.Serve(l, n.Handler(testSecret, func() { os.Exit(1) })) }()
		// No test waits for this goroutine; it ends with the process.
		go func() { _ = n.Run(context.Background()) }()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	// No test waits for this goroutine; it ends with the process.
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, Status{Name: name, PID: os.Getpid(), Address: l.Addr().String(), Role: Joining, SessionState: os.Args[3]})
		}))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// crew is a running crew of stand-ins.
func (b *bed) crew(mode string) (c *Crew, stop func()) {
	b.Helper()
	servers := "127.0.0.1:1/chroot"
	if _, err := time.ParseDuration(mode); err == nil {
		servers = b.srv.Addr()
	}
	return b.crewOf(servers, 0, func(name, listen, servers string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], name, listen, servers)
		cmd.Env = append(os.Environ(), standInMode+"="+mode)
		return cmd
	})
}

// crewOf is a crew of whatever spawn prepares.
func (b *bed) crewOf(servers string, port int, spawn Spawn) (c *Crew, stop func()) {
	b.Helper()
	c = NewCrew(servers, port, spawn, func() {})
	ctx, cancel := context.WithCancel(b.ctx)
	over := make(chan struct{})
	// Waited for by stop; ends with ctx.
	go func() {
		defer close(over)
		c.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-over
	}
	b.Cleanup(stop)
	return c, stop
}

// process is a process as reported by the crew.
func (c *Crew) process(name string) Process {
	for _, p := range c.Processes() {
		if p.Name == name {
			return p
		}
	}
	return Process{}
}

// add adds a process and waits for the state.
func (b *bed) add(c *Crew, state string) Process {
	b.Helper()
	name, err := c.Add(b.ctx)
	require.NoError(b, err)
	b.is(c, name, state)
	return c.process(name)
}

func (b *bed) is(c *Crew, name, state string) {
	b.Helper()
	b.until(func() bool { return c.process(name).State == state }, "%s is %s", name, state)
}

// lives reports whether a process runs, or is stopped.
func lives(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(text), ") Z ") && syscall.Kill(pid, 0) == nil
}

// TestOrdersFitTheStateOfTheProcess: unfit orders are refused, and change
// nothing.
func TestOrdersFitTheStateOfTheProcess(t *testing.T) {
	b := newBed(t)
	c, _ := b.crew("node")
	p := b.add(c, running)
	assert.Equal(t, "n1", p.Name)
	assert.True(t, lives(p.PID))
	var s Status
	require.NoError(t, json.Unmarshal([]byte(b.get("http://"+p.Address).text), &s))
	assert.Equal(t, p.PID, s.PID)
	assert.True(t, strings.HasSuffix(s.SessionState, "/chroot"), "the node connects to %q", s.SessionState)

	refused := func(orders ...Order) {
		t.Helper()
		before := c.process("n1")
		for _, o := range orders {
			require.ErrorIs(t, c.Do(b.ctx, "n1", o), errNotNow, "%s, and the process is %+v", o, before)
			assert.Equal(t, before, c.process("n1"), o)
		}
	}
	given := func(o Order, state string, cut bool) {
		t.Helper()
		require.NoError(t, c.Do(b.ctx, "n1", o), o)
		b.is(c, "n1", state)
		assert.Equal(t, cut, c.process("n1").Cut, o)
	}
	refused(Start, Resume, Heal, Resign, "explode")
	given(Freeze, frozen, false)
	refused(Start, Freeze, Heal, Resign)
	given(Cut, frozen, true)
	given(Heal, frozen, false)
	given(Resume, running, false)
	given(Cut, running, true)
	given(Cut, running, true)
	given(Heal, running, false)
	given(Freeze, frozen, false)
	given(Kill, exited, false)
	assert.Contains(t, c.process("n1").Exit, "killed")
	assert.False(t, lives(p.PID))
	refused(Kill, Freeze, Resume, Cut, Heal, Resign)
	given(Start, running, false)
	again := c.process("n1")
	assert.NotEqual(t, p.PID, again.PID)
	assert.Empty(t, again.Exit)
	assert.True(t, again.Since.After(p.Since))
	require.ErrorIs(t, c.Do(b.ctx, "n9", Kill), errUnknownNode)
}

// TestCutLastsUntilTheNextProcessIsThere: if no other process could be started,
// the cut remains.
func TestCutLastsUntilTheNextProcessIsThere(t *testing.T) {
	b := newBed(t)
	works := true
	c, _ := b.crewOf("127.0.0.1:1", 0, func(name, listen, servers string) *exec.Cmd {
		if !works {
			return exec.Command("/there/is/no/such/program")
		}
		cmd := exec.Command(os.Args[0], name, listen, servers)
		cmd.Env = append(os.Environ(), standInMode+"=node")
		return cmd
	})
	b.add(c, running)
	require.NoError(t, c.Do(b.ctx, "n1", Cut))
	require.NoError(t, c.Do(b.ctx, "n1", Kill))
	b.is(c, "n1", exited)
	assert.True(t, c.process("n1").Cut, "still cut off")
	works = false // Run, which reads works, is told after this
	require.ErrorIs(t, c.Do(b.ctx, "n1", Start), os.ErrNotExist)
	assert.Equal(t, exited, c.process("n1").State)
	assert.True(t, c.process("n1").Cut, "nothing was started")
	name, err := c.Add(b.ctx)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, exited, c.process(name).State, "can be started later")
	works = true
	require.NoError(t, c.Do(b.ctx, "n1", Start))
	assert.False(t, c.process("n1").Cut)
	require.NoError(t, c.Do(b.ctx, name, Start))
	b.is(c, name, running)
}

// TestProcessThatIsNotReadyCanBeKilled: the process may never be ready.
func TestProcessThatIsNotReadyCanBeKilled(t *testing.T) {
	b := newBed(t)
	c, _ := b.crew("silent")
	p := b.add(c, starting)
	for _, o := range []Order{Freeze, Resume, Cut, Start} {
		require.ErrorIs(t, c.Do(b.ctx, "n1", o), errNotNow, o)
	}
	require.NoError(t, c.Do(b.ctx, "n1", Kill))
	b.is(c, "n1", exited)
	assert.False(t, lives(p.PID))
}

// TestProcessMaySayMore: other output than Ready is ignored.
func TestProcessMaySayMore(t *testing.T) {
	b := newBed(t)
	c, _ := b.crew("chatty")
	p := b.add(c, running)
	assert.NotEmpty(t, p.Address)
}

// TestCrewEndsItsProcesses: in any state; and starts no process later.
func TestCrewEndsItsProcesses(t *testing.T) {
	b := newBed(t)
	c, stop := b.crew("node")
	var pids []int
	for range 3 {
		pids = append(pids, b.add(c, running).PID)
	}
	require.NoError(t, c.Do(b.ctx, "n2", Freeze))
	require.NoError(t, c.Do(b.ctx, "n3", Cut))
	stop()
	for i, pid := range pids {
		assert.False(t, lives(pid), "n%d", i+1)
	}
	for _, p := range c.Processes() {
		assert.Equal(t, exited, p.State)
	}
	_, err := c.Add(b.ctx)
	require.ErrorIs(t, err, errCrewOver)
	require.ErrorIs(t, c.Do(b.ctx, "n1", Start), errCrewOver)
	require.ErrorIs(t, c.Do(b.ctx, "n1", Kill), errNotNow)
}

// TestCrewHasAnEnd: its size is limited; names and ports of its nodes differ,
// even if another program has one of the ports.
func TestCrewHasAnEnd(t *testing.T) {
	b := newBed(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	first := taken.Addr().(*net.TCPAddr).Port
	var mu sync.Mutex
	var listen []string
	c, _ := b.crewOf("127.0.0.1:1", first, func(_, address, _ string) *exec.Cmd {
		mu.Lock()
		defer mu.Unlock()
		listen = append(listen, address)
		return exec.Command("sleep", "1000")
	})
	names := map[string]bool{}
	var adding sync.WaitGroup
	for range MaxNodes {
		// Waited for below; ends when the process is started.
		adding.Go(func() {
			name, err := c.Add(b.ctx)
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			names[name] = true
		})
	}
	adding.Wait()
	assert.Len(t, names, MaxNodes)
	assert.Contains(t, listen, "127.0.0.1:0", "another program has its port")
	_, err = c.Add(b.ctx)
	require.ErrorIs(t, err, errTooMany)
	assert.Len(t, c.Processes(), MaxNodes)
}

// TestStartOfAProcessIsNotWaitedForInVain: by a caller with an ended context.
func TestStartOfAProcessIsNotWaitedForInVain(t *testing.T) {
	b := newBed(t)
	c := NewCrew(b.srv.Addr(), 0, nil, func() {}) // Run has not begun
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Millisecond)
	defer cancel()
	name, err := c.Add(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, "n1", name)
	cancel()
	c.Run(ctx) // closes its proxy
}

// TestNoCrewHasNoProcesses: for a page of nodes elsewhere.
func TestNoCrewHasNoProcesses(t *testing.T) {
	var c *Crew
	assert.Empty(t, c.Processes())
	assert.Nil(t, c.find("n1"))
}
