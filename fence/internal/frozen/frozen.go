//go:build unix

package frozen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Writer is a holder that writes to the receiver at target.
type Writer struct {
	Client *session.Client
	Held   *lock.Held
	Token  fence.Token
	Target string
}

// Case is a late write.
type Case struct {
	// Serve starts the receiver and returns its address.
	Serve func() (target string)
	// Write writes value, in both processes, and does not look whether the hold has
	// ended.
	Write func(ctx context.Context, w Writer, value string) error
	// Refusal is the error that a refused write wraps; default: fence.ErrStale.
	Refusal error
}

// The values of the writes.
const (
	First = "first"
	Next  = "by the next holder"
	Late  = "too late"
)

// serversEnv and targetEnv turn the test binary into a holder.
const (
	serversEnv = "FENCE_FROZEN_SERVERS"
	targetEnv  = "FENCE_FROZEN_TARGET"
)

// InProcess starts a ZooKeeper in this process, which runs until the end of the test, and
// returns its connect string. In the other process, the connect string is that of the
// ZooKeeper that runs already.
func InProcess(t *testing.T) (servers string) {
	t.Helper()
	if servers := os.Getenv(serversEnv); servers != "" {
		return servers
	}
	zookeeper, err := zktest.Start(&zktest.Options{TickTime: tick})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = zookeeper.Close() })
	return zookeeper.Addr()
}

// OnApache is [InProcess] with a real ZooKeeper.
func OnApache(t *testing.T) (servers string) {
	t.Helper()
	if servers := os.Getenv(serversEnv); servers != "" {
		return servers
	}
	return apache.Require(t, &apache.Options{Heap: 96, TickTime: tick}).Connect()
}

// tick is the servers' tick, which allows sessions of timeout.
const (
	tick    = 200 * time.Millisecond
	timeout = 2 * time.Second
)

// Run lets another process get the lock and write First, freezes the process until this
// one has the lock and has written Next, and lets the other process write Late. Run
// reports whether Late was refused; Late was written otherwise. servers are those of
// [InProcess] or [OnApache]. The other process runs the same test again, up to the call of
// Run, and ends there.
func (c Case) Run(t *testing.T, servers string) (refused bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if os.Getenv(serversEnv) != "" {
		if err := c.hold(ctx, servers, os.Getenv(targetEnv)); err != nil {
			fmt.Fprintln(os.Stdout, "failed:", err)
		}
		t.FailNow() // ends the test; its result in this process does not matter
	}
	target := c.Serve()
	other, err := start(ctx, t.Name(), servers, target)
	if err != nil {
		t.Fatal(err)
	}
	defer other.end()
	other.expect(t, "held")
	if err := other.Freeze(); err != nil {
		t.Fatal(err)
	}
	_, closeClient, err := c.takeAndWrite(ctx, servers, target, Next)
	if err != nil {
		t.Fatalf("the next holder cannot write: %v", err)
	}
	defer closeClient()
	if err := other.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := other.Tell("write"); err != nil {
		t.Fatal(err)
	}
	return other.expect(t, "refused", "written") == "refused"
}

// hold is the other process.
func (c Case) hold(ctx context.Context, servers, target string) error {
	w, closeClient, err := c.takeAndWrite(ctx, servers, target, First)
	if err != nil {
		return err
	}
	defer closeClient()
	fmt.Fprintln(os.Stdout, "held")
	bufio.NewScanner(os.Stdin).Scan() // frozen here
	refusal := c.Refusal
	if refusal == nil {
		refusal = fence.ErrStale
	}
	switch err := c.Write(ctx, w, Late); {
	case err == nil:
		fmt.Fprintln(os.Stdout, "written")
	case errors.Is(err, refusal):
		fmt.Fprintln(os.Stdout, "refused")
	default:
		return err
	}
	return nil
}

// takeAndWrite takes the lock and writes, and begins again if the hold is lost meanwhile,
// as may happen on a busy machine.
func (c Case) takeAndWrite(ctx context.Context, servers, target, value string) (Writer, func(), error) {
	for {
		w, closeClient, err := takeLock(ctx, servers, target)
		if err == nil {
			if err = c.Write(ctx, w, value); err == nil {
				return w, closeClient, nil
			}
			lost := w.Held.Context().Err() != nil
			closeClient()
			if lost && ctx.Err() == nil {
				continue
			}
			return Writer{}, nil, err
		}
		if !errors.Is(err, session.ErrLost) || ctx.Err() != nil {
			return Writer{}, nil, err
		}
	}
}

// takeLock takes the lock and makes its token.
func takeLock(ctx context.Context, servers, target string) (Writer, func(), error) {
	client, err := session.Connect(ctx, servers, &session.Options{Timeout: timeout})
	if err != nil {
		return Writer{}, nil, err
	}
	closeClient := func() { _ = client.Close(ctx) }
	held, err := lock.New(client, "/locks/frozen", nil).Lock(ctx)
	var token fence.Token
	if err == nil {
		token, err = fence.NewIssuer(client, "/fence/epoch", nil).Token(ctx, held)
	}
	if err != nil {
		closeClient()
		return Writer{}, nil, err
	}
	return Writer{Client: client, Held: held, Token: token, Target: target}, closeClient, nil
}

// process is the other process.
type process struct {
	*subprocess.Process
	lines <-chan string
}

// start starts this test binary as the other process of a test.
func start(ctx context.Context, test, servers, target string) (*process, error) {
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(parts, "/"))
	cmd.Env = append(os.Environ(), serversEnv+"="+servers, targetEnv+"="+target)
	cmd.Stderr = os.Stderr
	p, lines, err := subprocess.StartLines(cmd)
	return &process{p, lines}, err
}

// expect returns the next line of the process, which must be one of want.
func (p *process) expect(t *testing.T, want ...string) string {
	t.Helper()
	said, more := <-p.lines
	if !more {
		t.Fatalf("the other process has ended instead of saying %q", want)
	}
	for _, line := range want {
		if said == line {
			return line
		}
	}
	t.Fatalf("the other process says %q instead of %q", said, want)
	return ""
}

// end kills the process, which may be frozen, and waits for its end.
func (p *process) end() {
	p.Kill()
	_ = p.Wait() // killed, or ended by itself
}
