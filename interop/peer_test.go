//go:build unix

package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Kinds of peers. They all speak the protocol of [ask].
const (
	ours    = "ours"    // this module: ours_test.go
	curator = "curator" // testdata/java
	kazoo   = "kazoo"   // testdata/peer.py
)

// timeout is that of sessions whose peers are to live, however long the machine
// stalls, brief that of those which are killed or frozen: others wait for their end.
const (
	timeout = 30 * time.Second
	brief   = 8 * time.Second
)

// patience is how long tests wait for expected events: longer than any machine needs,
// however busy it is.
const patience = 2 * time.Minute

// ask is one request to a peer: a line of JSON, answered by a line, in any
// order. "id" pairs them, "do" is the command. The answer has the result as "ok", or
// a text as "error". The commands that all peers have:
//
//	hello            connects and returns its name
//	hold             waits until it holds "recipe" on "path" and returns the token; the hold is called "as"
//	release          gives "as" back
//	hammer           the worker named by "who" takes and gives back "recipe" on "path", or counts, repeatedly, and
//	                 writes to the file "witness" what it saw; answers after "rounds", and goes on
//	stop             ends all workers and returns how many rounds each has done
//	bye              closes all sessions
//
// "client" names the session to use; all requests without "client" share a
// session.
type ask map[string]any

type reply struct {
	ID    int
	OK    json.RawMessage
	Error string
}

// peer takes part in recipes: a process, or a connection to the one that is many
// peers.
type peer struct {
	kind    string
	process *subprocess.Process // nil for a connection
	// tell sends a line, and hangUp ends the input of the peer, which ends then.
	tell   func(line string) error
	hangUp func()
	log    *bytes.Buffer // the process's standard error; read it when the process is gone
	gone   chan struct{} // closed when it has ended

	mu sync.Mutex
	// waiting has the channels of the requests without an answer; nil once no
	// more answers come.
	waiting map[int]chan reply
	last    int // id
}

// start starts a peer, which ends with the test. Where it is not installed the
// test is skipped, loudly. A peer with brief sessions has a process of its own, which
// can be killed and frozen; Curator's others share one, since Java is dear to start.
func start(t *testing.T, kind string, session time.Duration) *peer {
	t.Helper()
	return startOn(t, apache.Require(t, options()), kind, session)
}

// startOn is start for other servers than the shared one.
func startOn(t *testing.T, cluster *apache.Cluster, kind string, session time.Duration) *peer {
	t.Helper()
	servers, ms := cluster.Connect(), strconv.Itoa(int(session.Milliseconds()))
	p := &peer{kind: kind, log: &bytes.Buffer{}, gone: make(chan struct{}), waiting: map[int]chan reply{}}
	var cmd *exec.Cmd
	switch kind {
	case ours:
		cmd = exec.Command(os.Args[0], servers, ms)
		cmd.Env = append(os.Environ(), envRole+"=peer")
	case curator:
		needCurator(t)
		if session == brief {
			cmd = java(os.Getenv(envClasses), servers, ms)
			break
		}
		conn, err := net.Dial("tcp", os.Getenv(envCurator))
		require.NoError(t, err)
		_, err = fmt.Fprintln(conn, servers, ms)
		require.NoError(t, err)
		p.tell = func(line string) error {
			_, err := io.WriteString(conn, line+"\n")
			return err
		}
		p.hangUp = func() { _ = conn.Close() }
		// Waited for by end; ends with the connection.
		go func() {
			defer p.endCalls()
			lines := bufio.NewScanner(conn)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				p.deliver(lines.Text())
			}
		}()
	case kazoo:
		needKazoo(t)
		cmd = exec.Command(python, "testdata/peer.py", servers, ms)
	default:
		t.Fatalf("no peer is called %q", kind)
	}
	if cmd != nil {
		var err error
		cmd.Stderr = p.log
		p.process, err = subprocess.Start(cmd, p.deliver, func(*os.ProcessState) { p.endCalls() })
		require.NoError(t, err)
		p.tell, p.hangUp = p.process.Tell, p.process.End
	}
	t.Cleanup(func() { p.end(t) })
	p.do(t, ask{"do": "hello"})
	return p
}

// deliver delivers an answer to the waiting request.
func (p *peer) deliver(line string) {
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return // not to us
	}
	p.mu.Lock()
	to := p.waiting[r.ID]
	delete(p.waiting, r.ID)
	p.mu.Unlock()
	if to != nil {
		to <- r // has room for it
	}
}

// endCalls ends the requests of a peer that has ended.
func (p *peer) endCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.waiting {
		close(to)
	}
	p.waiting = nil
	close(p.gone)
}

// errGone: the peer has ended before it answered.
var errGone = errors.New("the peer has ended")

// call is a request in progress.
type call struct {
	p   *peer
	a   ask
	got chan reply
}

// sendRequest sends a request.
func (p *peer) sendRequest(a ask) *call {
	c := &call{p, a, make(chan reply, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		close(c.got)
		return c
	}
	p.last++
	line := ask{"id": p.last}
	for k, v := range a {
		line[k] = v
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // the request cannot be encoded as JSON
	}
	p.waiting[p.last] = c.got
	// A pipe has room for far more than a test asks at a time. If the peer has
	// ended the write fails, and listen is about to say so.
	_ = p.tell(string(text))
	return c
}

// wait returns the answer, as often as it is called; one goroutine at a time.
func (c *call) wait(ctx context.Context) (json.RawMessage, error) {
	select {
	case r, ok := <-c.got:
		if !ok {
			return nil, fmt.Errorf("%s: %v: %w\n%s", c.p.kind, c.a, errGone, c.p.log)
		}
		c.got <- r // for a second call
		if r.Error != "" {
			return nil, fmt.Errorf("%s: %v: %s", c.p.kind, c.a, r.Error)
		}
		return r.OK, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %v: %w", c.p.kind, c.a, context.Cause(ctx))
	}
}

// pending reports whether there is no answer yet.
func (c *call) pending() bool { return len(c.got) == 0 }

// requireAnswer waits for the answer, for at most the common time limit of the
// tests.
func (c *call) requireAnswer(t *testing.T) json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := c.wait(ctx)
	require.NoError(t, err)
	return got
}

// do sends a request and waits for the answer.
func (p *peer) do(t *testing.T, a ask) json.RawMessage {
	t.Helper()
	return p.sendRequest(a).requireAnswer(t)
}

// number is do for an answer that is one.
func (p *peer) number(t *testing.T, a ask) int64 {
	t.Helper()
	return decodeAnswer[int64](t, p.do(t, a))
}

// decodeAnswer reads an answer.
func decodeAnswer[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(raw, &v), "%s", raw)
	return v
}

// version returns the peer's name and release.
func (p *peer) version(t *testing.T) string {
	t.Helper()
	return decodeAnswer[string](t, p.do(t, ask{"do": "hello"}))
}

// kill ends the peer as kill -9 does, and returns when it is gone.
func (p *peer) kill(t *testing.T) {
	t.Helper()
	require.NotNil(t, p.process, "it shares its process")
	p.process.Kill()
	<-p.gone
}

// freeze stops the process, as a virtual machine that is suspended; thaw lets it
// go on.
func (p *peer) freeze(t *testing.T) {
	t.Helper()
	require.NotNil(t, p.process, "it shares its process")
	require.NoError(t, p.process.Freeze())
}

func (p *peer) thaw(t *testing.T) {
	t.Helper()
	require.NoError(t, p.process.Thaw())
}

// end has the peer close its sessions, so that nothing of it is in the way of
// the next test, and waits until it has.
func (p *peer) end(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := p.sendRequest(ask{"do": "bye"}).wait(ctx)
	p.hangUp()
	if err != nil && !errors.Is(err, errGone) {
		t.Errorf("end: %v", err)
		if p.process != nil {
			p.process.Kill()
		}
	}
	<-p.gone
	if t.Failed() && p.log.Len() > 0 {
		t.Logf("%s said:\n%.4000s", p.kind, p.log)
	}
}
