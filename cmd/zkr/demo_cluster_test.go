//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/democmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// calm makes sessions that last, for tests that depend on the leader: on a busy
// machine short sessions get lost. lasting is for tests that wait for the end
// of no session.
//
// read only
var (
	calm    = []string{"--session-timeout", "8s"}
	lasting = []string{"--session-timeout", longest.String()}
)

// startedCluster is a running "zkr demo cluster".
type startedCluster struct {
	*zkrProcess
	page string
}

// startCluster starts a cluster with a server of its own, unless env names
// another server.
func startCluster(t *testing.T, env []string, args ...string) *startedCluster {
	t.Helper()
	cmd := command("", append([]string{"demo", "cluster", "--listen", "127.0.0.1:0", "--node-port", "0", "-o", "json"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	c := &startedCluster{zkrProcess: start(t, cmd)}
	c.says(`"page"`)
	var hello democmd.ClusterEvent
	require.NoError(t, json.Unmarshal([]byte(strings.SplitAfter(c.out.String(), "\n")[0]), &hello))
	c.page = strings.TrimSuffix(hello.URL, "/")
	return c
}

// clusterView is GET /cluster/state.
type clusterView struct {
	cluster.View
	Times cluster.Times `json:"times"`
}

func fetch(t *testing.T, url string, into any) (code int) {
	t.Helper()
	client := http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(url)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	if into != nil {
		require.NoError(t, json.Unmarshal(text, into), "%s", text)
	}
	return res.StatusCode
}

func (c *startedCluster) view() clusterView {
	c.t.Helper()
	var v clusterView
	fetch(c.t, c.page+"/cluster/state", &v)
	return v
}

// sees waits until the page shows a state.
func (c *startedCluster) sees(ok func(clusterView) bool, what string) clusterView {
	c.t.Helper()
	var v clusterView
	eventually(c.t, func() bool { v = c.view(); return ok(v) }, "the page shows %s", what)
	return v
}

// settled waits until n nodes are running.
func (c *startedCluster) settled(nodes int) clusterView {
	c.t.Helper()
	return c.sees(func(v clusterView) bool { return v.Problem == "" && v.Settled(nodes) }, fmt.Sprintf("%d nodes", nodes))
}

// token finds the token on the page, as a browser does.
func (c *startedCluster) token() string {
	c.t.Helper()
	res, err := http.Get(c.page)
	require.NoError(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	return tokenIn(c.t, string(text))
}

func tokenIn(t *testing.T, page string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `name="token" value="`)
	require.True(t, ok, "there are orders on the page")
	token, _, _ := strings.Cut(rest, `"`)
	require.Len(t, token, 64)
	return token
}

// keyOf is the token in the page's forms, for a client that has opened the
// address with the secret.
func (c *startedCluster) keyOf(secret string) string {
	c.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(c.t, err)
	client := &http.Client{Jar: jar, Timeout: limit}
	res, err := client.Get(c.page + "/?token=" + url.QueryEscape(secret))
	require.NoError(c.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(c.t, err)
	assert.NotContains(c.t, string(text), secret)
	return tokenIn(c.t, string(text))
}

// order gives an order.
func (c *startedCluster) order(token, path string) int {
	c.t.Helper()
	res, err := http.PostForm(c.page+path, url.Values{"token": {token}})
	require.NoError(c.t, err)
	require.NoError(c.t, res.Body.Close())
	return res.StatusCode
}

func rowOf(v clusterView, name string) cluster.Row {
	for _, r := range v.Rows {
		if r.Name == name {
			return r
		}
	}
	return cluster.Row{}
}

// TestClusterMeasuresFailovers: the leader is killed, the next node serves
// within a session timeout and a little, and zkr ends by itself. D12, D15
func TestClusterMeasuresFailovers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, nil, append(calm, "--kills", "2", "--nodes", "3")...)
	c.says(`"failover"`) // one failover, so that the page still exists
	v := c.view()
	c.ends(0)
	lines := strings.Split(strings.TrimSpace(c.out.String()), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines[1:3] {
		var e democmd.ClusterEvent
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		assert.Equal(t, "failover", e.Event)
		assert.Equal(t, cluster.Kill, e.Failover.Cause)
		assert.NotEqual(t, e.From, e.To)
		assert.Greater(t, e.Took, 2000.0, "its session has to expire")
		assert.Less(t, e.Took, 60_000.0, "under a minute")
	}
	var e democmd.ClusterEvent
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &e))
	assert.Equal(t, "summary", e.Event)
	assert.Equal(t, 2, e.N)
	assert.Positive(t, e.Median)
	for _, r := range v.Rows {
		assert.True(t, dead(t, r.PID), "%s has ended with the demonstration", r.Name)
	}
}

// TestNodesDieWithTheCluster: for every end of the cluster.
func TestNodesDieWithTheCluster(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		c := startCluster(t, nil, append(lasting, "--nodes", "2")...)
		v := c.settled(2)
		assert.Equal(t, http.StatusAccepted, c.order(c.token(), "/nodes/"+v.Rows[1].Name+"/freeze"))
		c.signal(sig)
		c.wait()
		for _, r := range v.Rows {
			eventually(t, func() bool { return dead(t, r.PID) }, "node %s ends", r.Name)
		}
		if sig != syscall.SIGKILL {
			assert.Equal(t, 0, c.code, "people end it as they like: %s", c.err)
		}
	}
}

// TestFrozenLeaderDoesNotServeWhenItWakes: the page has another leader by then,
// and the former leader joins behind all others. D14, D16
func TestFrozenLeaderDoesNotServeWhenItWakes(t *testing.T) {
	t.Parallel()
	c := startCluster(t, nil, append(calm, "--nodes", "3")...)
	token := c.token()
	old := c.settled(3).Rows[0]
	require.Equal(t, "n1", old.Name)
	require.Equal(t, http.StatusForbidden, c.order("guessed", "/nodes/n1/freeze"))
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n1/freeze"))
	require.Equal(t, http.StatusConflict, c.order(token, "/nodes/n1/freeze"))
	eventually(t, func() bool { return procState(t, old.PID) == "T" }, "it is stopped")
	eventually(t, func() bool { return fetch(t, c.page+"/cluster/summary", nil) != http.StatusOK }, "the summary fails for a while")
	v := c.sees(func(v clusterView) bool { return v.Problem == "" && v.Summary.Leader == "n2" }, "n2 leads")
	assert.Equal(t, cluster.Freeze, v.Failovers[0].Cause)
	assert.Equal(t, "frozen", rowOf(v, "n1").Process.State)

	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n1/resume"))
	assert.Equal(t, http.StatusBadRequest, fetch(t, "http://"+old.Address+"/cluster/status", nil), "its first answer is that it does not lead")
	v = c.settled(3)
	assert.Equal(t, "n1", v.Rows[2].Name, "last")
	assert.Equal(t, old.PID, v.Rows[2].PID, "the same process")
	assert.Equal(t, 2, v.Rows[2].Life)
}

// TestCutOffLeaderOnThePage: the leader itself reports its stop, before the
// next leader began.
func TestCutOffLeaderOnThePage(t *testing.T) {
	t.Parallel()
	c := startCluster(t, nil, append(calm, "--nodes", "2")...)
	token := c.token()
	c.settled(2)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n1/cut"))
	v := c.sees(func(v clusterView) bool {
		return v.Problem == "" && v.Summary.Leader == "n2" && rowOf(v, "n1").Source == "node" && !v.Failovers[0].Stopped.IsZero()
	}, "n2 leads, and what n1 says")
	gap, ok := v.Failovers[0].Gap()
	assert.True(t, ok)
	assert.Positive(t, gap)
	assert.True(t, rowOf(v, "n1").Process.Cut)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n1/heal"))
	assert.Equal(t, "n1", c.settled(2).Rows[1].Name)

	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes"))
	assert.Equal(t, "n3", c.settled(3).Rows[2].Name)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n2/resign"))
	v = c.sees(func(v clusterView) bool { return v.Settled(3) && v.Summary.Leader == "n1" }, "n1 again")
	assert.Equal(t, cluster.Resign, v.Failovers[0].Cause)
	assert.Less(t, v.Failovers[0].Took, 5000.0, "no session has to expire")
}

// startNode starts a node as in a container.
func (b *bed) startNode(name string, flags []string, env ...string) (*zkrProcess, string) {
	b.Helper()
	cmd := b.command("demo", "node", name)
	cmd.Args = append(cmd.Args, flags...)
	cmd.Env = append(cmd.Env, env...)
	z := start(b.T, cmd)
	z.says(`"address"`)
	var r cluster.Ready
	require.NoError(b, json.Unmarshal([]byte(z.out.String()), &r))
	return z, r.Address
}

// TestNodesElsewhere: nodes are killed through their own HTTP server, with the
// secret, and leave at once when they are told to end. D12, D17
func TestNodesElsewhere(t *testing.T) {
	b := newBed(t)
	const secret = "shared-by-the-page-and-its-nodes"
	knows := democmd.TokenEnv + "=" + secret
	a, _ := b.startNode("a", calm, knows)
	b.queued("/election", 1)
	second, _ := b.startNode("b", lasting, knows)
	b.queued("/election", 2)
	third, address := b.startNode("c", lasting, knows)
	c := startCluster(t, []string{"ZKR_SERVERS=" + b.srv.Addr(), knows}, "--nodes", "0")
	c.settled(3)
	token := c.token()
	assert.NotContains(t, token, secret)
	assert.Equal(t, token, c.keyOf(secret))
	require.Equal(t, http.StatusForbidden, c.order(secret, "/nodes/a/kill"), "the secret itself is good for the address alone")
	require.Equal(t, http.StatusNotFound, c.order(token, "/nodes/a/freeze"), "not its process")
	require.Equal(t, http.StatusNotFound, c.order(token, "/nodes"))
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/a/kill"))
	a.ends(137)
	c.settled(2)

	begin := time.Now()
	second.signal(syscall.SIGTERM)
	second.ends(0)
	v := c.sees(func(v clusterView) bool { return v.Summary.Leader == "c" }, "c leads")
	assert.Less(t, v.At.Sub(begin), longest/3, "it has said goodbye")

	res, err := http.Post("http://"+address+"/control/kill", "", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	assert.Equal(t, http.StatusForbidden, res.StatusCode)
	third.running()
}

// TestPageWithoutASecretOnlyShows: for nodes elsewhere.
func TestPageWithoutASecretOnlyShows(t *testing.T) {
	b := newBed(t)
	z, _ := b.startNode("a", lasting)
	c := startCluster(t, []string{"ZKR_SERVERS=" + b.srv.Addr()}, "--nodes", "0")
	c.settled(1)
	assert.Equal(t, http.StatusForbidden, c.order("", "/nodes/a/kill"))
	z.running()
}

// TestOrdersWhereOthersMayCome: orders are off, or need the secret, also if the
// page listens only to this machine: other clients come by a proxy on this
// machine.
func TestOrdersWhereOthersMayCome(t *testing.T) {
	t.Parallel()
	form := func(c *startedCluster, query string) bool {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		res, err := (&http.Client{Jar: jar, Timeout: limit}).Get(c.page + query)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return strings.Contains(string(text), `name="token"`)
	}
	off := startCluster(t, nil, "--nodes", "1", "--session-timeout", longest.String(), "--allow-remote")
	off.settled(1)
	assert.False(t, form(off, ""))
	assert.Equal(t, http.StatusForbidden, off.order("", "/nodes/n1/kill"))

	made := startCluster(t, nil, "--nodes", "1", "--session-timeout", longest.String(), "--allow-remote", "--allow-kill")
	page, secret, ok := strings.Cut(made.page, "?token=")
	require.True(t, ok, "zkr prints the secret: %s", made.page)
	made.page = strings.TrimSuffix(page, "/")
	made.settled(1)
	assert.False(t, form(made, ""))
	assert.True(t, form(made, "/?token="+secret))

	const known = "known-to-the-starter"
	given := startCluster(t, []string{democmd.TokenEnv + "=" + known}, "--nodes", "1", "--session-timeout", longest.String(), "--allow-remote", "--allow-kill")
	given.settled(1)
	assert.NotContains(t, given.out.String(), known, "a printed secret would be in logs")
	assert.False(t, form(given, ""))
	assert.True(t, form(given, "/?token="+known))

	everywhere := start(t, command("", "demo", "cluster", "--nodes", "1", "--node-port", "0", "--listen", "0.0.0.0:0", "--allow-remote"))
	everywhere.says("The page is on ")
	assert.NotContains(t, everywhere.out.String(), "http://", "a container's port may be another one outside")
}

// TestNodeTakesTheShortestSessionThatIsGranted. D19
func TestNodeTakesTheShortestSessionThatIsGranted(t *testing.T) {
	t.Parallel()
	for tickTime, want := range map[time.Duration]int64{100 * time.Millisecond: 1000, 2 * time.Second: 4000} {
		srv, err := zktest.Start(&zktest.Options{TickTime: tickTime})
		require.NoError(t, err)
		defer func() { _ = srv.Close() }()
		b := &bed{T: t, srv: srv}
		z, address := b.startNode("a", nil)
		var s cluster.Status
		eventually(t, func() bool { fetch(t, "http://"+address+"/status", &s); return s.Role == cluster.Leader }, "it leads: %s", z.err)
		assert.Equal(t, want, s.Timeout)
	}
}

func TestClusterRefusesInvalidArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "--allow-remote"},
		{[]string{"--listen", "x"}, "not host:port"},
		{[]string{"--nodes", "17"}, "from 0 to 16"},
		{[]string{"--nodes", "-1"}, "from 0 to 16"},
		{[]string{"--nodes", "0"}, "needs --servers"},
		{[]string{"--kills", "-1"}, "--kills is -1"},
		{[]string{"--kills", "1", "--nodes", "1"}, "it needs two"},
		{[]string{"--node-port", "-1"}, "--node-port"},
		{[]string{"--tick", "-1s"}, "--tick"},
		{[]string{"--servers", "h/a", "--chroot", "/b"}, "makes no sense"},
		{[]string{"--servers", "a:1,b:1", "--tls"}, "--tls-server-name"},
	} {
		z := inside(t, command("", append([]string{"demo", "cluster"}, c.args...)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), c.says, "%q", c.args)
	}
	for _, args := range [][]string{{"demo", "node"}, {"demo", "node", "a/b"}, {"demo", "node", "a", "--listen", "x"}} {
		inside(t, command("", args...)).ends(exit.CodeUsage)
	}
	for _, args := range [][]string{{"demo", "cluster"}, {"demo", "node", "a"}} {
		cmd := command("", args...)
		cmd.Env = append(cmd.Env, democmd.TokenEnv+"=fifteen-letters")
		z := inside(t, cmd).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), "ZKR_DEMO_TOKEN")
		assert.Contains(t, z.err.String(), "openssl rand -hex 16")
		assert.NotContains(t, z.err.String(), "fifteen-letters")
	}
	for listen, advertise := range map[string]string{"0.0.0.0:0": "", "127.0.0.1:0": "no such name"} {
		inside(t, command("", "demo", "node", "a", "--listen", listen, "--advertise", advertise)).ends(exit.CodeUsage)
	}
	taken := startCluster(t, nil, append(lasting, "--nodes", "1")...)
	z := start(t, command("", "demo", "cluster", "--listen", strings.TrimPrefix(taken.page, "http://"))).ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "127.0.0.1:0", "the hint says how to get another port")
}
