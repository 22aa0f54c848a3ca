package apache

import (
	"context"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// patience is how long tests wait for expected events: machines may be slow.
const patience = time.Minute

// eachMode runs a test with servers from jars and from Docker, or as ZKTEST_MODE
// requests.
func eachMode(t *testing.T, test func(t *testing.T, mode Mode)) {
	modes := []Mode{Jars, Docker}
	if only := Mode(os.Getenv(EnvMode)); slices.Contains(modes, only) {
		modes = []Mode{only}
	}
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) { test(t, mode) })
	}
}

// openSession opens a session and waits until the session is established.
func openSession(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 30*time.Second, zk.WithLogger(quiet{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	deadline := time.After(patience)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return conn
			}
		case <-deadline:
			t.Fatalf("no session at %s", addr)
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func TestStandaloneServesWithItsOptions(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{
			Mode: mode, TickTime: 300 * time.Millisecond, MinSessionTimeout: time.Second, MaxSessionTimeout: 7 * time.Second,
			ContainerInterval: 100 * time.Millisecond, Config: map[string]string{"maxCnxns": "77"},
		})
		require.Equal(t, mode, c.Mode())
		require.Len(t, c.Servers(), 1)
		var role, conf string
		// A server on a busy machine may need longer than one four-letter word waits.
		require.Eventually(t, func() (answered bool) {
			var err error
			if role, err = c.Role(t.Context(), 0); err == nil {
				conf, err = c.FourLetter(t.Context(), 0, "conf")
			}
			return err == nil
		}, patience, 10*time.Millisecond)
		require.Equal(t, "standalone", role)
		for _, line := range []string{"tickTime=300", "minSessionTimeout=1000", "maxSessionTimeout=7000", "maxClientCnxns=0"} {
			require.Contains(t, conf, line)
		}
		conn := openSession(t, c.Connect())
		_, err := conn.CreateTTL("/ttl", nil, zk.FlagTTL, zk.WorldACL(zk.PermAll), 50*time.Millisecond)
		require.NoError(t, err, "extended types are on")
		require.Eventually(t, func() bool {
			found, _, err := conn.Exists("/ttl")
			return err == nil && !found
		}, patience, 50*time.Millisecond, "the TTL node is reaped at ContainerInterval")
	})
}

func TestTTLNodesAreRefusedWithoutExtendedTypes(t *testing.T) {
	c := Require(t, &Options{NoExtendedTypes: true, Own: true})
	conn := openSession(t, c.Connect())
	_, err := conn.CreateTTL("/ttl", nil, zk.FlagTTL, zk.WorldACL(zk.PermAll), time.Second)
	require.Error(t, err)
}

// M17.
func TestEnsembleElectsAgainAndKeepsItsDataWhenTheLeaderIsKilled(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Servers: 3})
		ctx := t.Context()
		old, err := c.Leader(ctx)
		require.NoError(t, err)
		conn := openSession(t, c.Servers()[(old+1)%3])
		_, err = conn.Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		conn.Close()

		require.NoError(t, c.Kill(ctx, old))
		require.NoError(t, c.Kill(ctx, old), "a dead server may be killed again")
		_, err = c.Role(ctx, old)
		require.ErrorIs(t, err, ErrNotServing)
		require.NoError(t, c.Await(ctx, (old+1)%3, (old+2)%3))
		leader, err := c.Leader(ctx)
		require.NoError(t, err)
		require.NotEqual(t, old, leader)

		require.NoError(t, c.Restart(ctx, old))
		role, err := c.Role(ctx, old)
		require.NoError(t, err)
		require.Equal(t, "follower", role)
		conn = openSession(t, c.Servers()[old])
		_, err = conn.Sync("/kept")
		require.NoError(t, err)
		found, _, err := conn.Exists("/kept")
		require.NoError(t, err)
		require.True(t, found)
		require.Error(t, c.Launch(ctx, old), "the server runs already")
	})
}

func TestPausedServerAnswersNothingUntilItIsResumed(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Own: true})
		ctx := t.Context()
		require.NoError(t, c.Pause(ctx, 0))
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err := c.FourLetter(short, 0, "ruok")
		require.Error(t, err)
		require.NoError(t, c.Resume(ctx, 0))
		require.Eventually(t, func() bool {
			answer, err := c.FourLetter(ctx, 0, "ruok")
			return err == nil && answer == "imok"
		}, patience, 10*time.Millisecond)
		require.NoError(t, c.Pause(ctx, 0), "and Close ends a paused server")
	})
}

func TestSequenceCounterStartsWhereItIsTold(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Counters: map[string]int32{"/a/b": 2147483645, "/": 41}})
		conn := openSession(t, c.Connect())
		var names []string
		for _, path := range []string{"/a/b/n-", "/a/b/n-", "/a/b/n-", "/top-", "/a/n-"} {
			name, err := conn.Create(path, nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			names = append(names, name)
		}
		require.Equal(t, []string{
			"/a/b/n-2147483645", "/a/b/n-2147483646", "/a/b/n-2147483647", "/top-0000000041", "/a/n-0000000000",
		}, names)
		_, err := conn.Create("/a/b/n-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.ErrorIs(t, err, zk.ErrNodeExists, "the counter sticks at its end")
	})
}

func TestCountersRefuseWhatIsNoPath(t *testing.T) {
	_, err := encodeSnapshot(map[string]int32{"relative": 1}, nil)
	require.ErrorContains(t, err, "Counters")
	_, err = encodeSnapshot(nil, map[string]int32{"/end/": 1})
	require.ErrorContains(t, err, "Versions")
}

func TestVersionStartsWhereItIsToldAndWraps(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Versions: map[string]int32{"/a/b": math.MaxInt32}})
		conn := openSession(t, c.Connect())
		_, err := conn.Set("/a/b", nil, 0)
		require.ErrorIs(t, err, zk.ErrBadVersion)
		stat, err := conn.Set("/a/b", nil, math.MaxInt32)
		require.NoError(t, err)
		require.Equal(t, int32(math.MinInt32), stat.Version)
	})
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	t.Setenv(EnvMode, "")
	for field, o := range map[string]*Options{
		"Servers":  {Servers: 2},
		"Mode":     {Mode: "magic"},
		"negative": {TickTime: -1},
	} {
		_, err := Start(t.Context(), o)
		require.ErrorContains(t, err, field)
	}
	t.Setenv(EnvMode, "magic")
	_, err := Start(t.Context(), nil)
	require.ErrorContains(t, err, EnvMode)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
}

func TestUnknownServersAndClientsAreErrors(t *testing.T) {
	c := Require(t, &Options{Own: true})
	ctx := t.Context()
	for _, i := range []int{-1, 1} {
		require.ErrorIs(t, c.Kill(ctx, i), ErrNoServer)
		require.ErrorIs(t, c.Await(ctx, i), ErrNoServer, "the server would never come up")
		_, err := c.FourLetter(ctx, i, "ruok")
		require.ErrorIs(t, err, ErrNoServer)
	}
	require.ErrorIs(t, c.CutPeers(ctx, 0, 0, Both), ErrNoCuts)
	require.ErrorIs(t, c.CutClient(ctx, 0, 0, Both), ErrNoCuts)
}

func TestCloseLeavesNothingAndMayBeCalledTwice(t *testing.T) {
	eachMode(t, func(t *testing.T, mode Mode) {
		c := Require(t, &Options{Mode: mode, Own: true})
		require.NoError(t, c.Close())
		require.NoError(t, c.Close())
		require.NoDirExists(t, c.dir)
		_, err := c.FourLetter(t.Context(), 0, "ruok")
		require.Error(t, err)
	})
}

func TestStartThatIsCutShortLeavesNothingAndShowsTheLog(t *testing.T) {
	Require(t, &Options{Mode: Jars, Own: true}) // or skip
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// A server with an invalid configuration never serves.
	_, err := Start(ctx, &Options{Mode: Jars, Dir: dir, Config: map[string]string{"tickTime": "none"}})
	require.ErrorIs(t, err, ErrNotServing)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "Start does not wait for an ended server")
	require.ErrorContains(t, err, "Invalid config", "the log says why")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestGivenEnsembleIsUsedAndLeftAlone(t *testing.T) {
	own := Require(t, &Options{Own: true})
	t.Setenv(EnvMode, "")
	t.Setenv(EnvServers, own.Connect())
	c, err := Start(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, Given, c.Mode())
	require.Equal(t, own.Connect(), c.Connect())
	require.ErrorIs(t, c.Kill(t.Context(), 0), ErrNotOurs)
	require.ErrorIs(t, c.Pause(t.Context(), 0), ErrNotOurs)
	require.NoError(t, c.Heal(t.Context()))
	require.Empty(t, c.Logs(t.Context(), 3))
	require.NoError(t, c.Close())
	_, err = own.Role(t.Context(), 0)
	require.NoError(t, err, "the server still runs")

	for _, o := range []*Options{{Mode: Given, Servers: 3}, {Mode: Given, Own: true}, {Mode: Given, Cuts: true}} {
		_, err := Start(t.Context(), o)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, EnvServers)
	}
	t.Setenv(EnvServers, "127.0.0.1:1")
	_, err = Start(t.Context(), nil)
	require.ErrorIs(t, err, ErrUnavailable)
	t.Setenv(EnvServers, "host:none")
	_, err = Start(t.Context(), nil)
	require.ErrorContains(t, err, "port")
}

func TestMissingToolIsNamed(t *testing.T) {
	t.Setenv(EnvServers, "")
	t.Setenv(EnvMode, "")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	_, err := Start(t.Context(), nil)
	require.ErrorIs(t, err, ErrUnavailable)
	for _, hint := range []string{"default-jre-headless", "docker.io", EnvServers} {
		require.ErrorContains(t, err, hint)
	}
	_, err = Start(t.Context(), &Options{Cuts: true})
	require.ErrorIs(t, err, ErrUnavailable)
	missing := "iproute2"
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		missing = "need Linux and root"
	}
	require.ErrorContains(t, err, missing)
}

func TestJarsOfAReleaseAreFoundByItsHome(t *testing.T) {
	if _, _, err := findJars(""); err != nil {
		Require(t, &Options{Mode: Jars}) // no java: Require skips
	}
	home := t.TempDir()
	_, _, err := findJars(home)
	require.ErrorIs(t, err, ErrUnavailable)
	require.NoError(t, os.Mkdir(home+"/lib", 0o755))
	require.NoError(t, os.WriteFile(home+"/lib/zookeeper-3.9.3.jar", nil, 0o644))
	_, classPath, err := findJars(home)
	require.NoError(t, err)
	require.Equal(t, home+"/lib/*", classPath)
}

func TestConfigurationIsWholeForEachServer(t *testing.T) {
	o, err := (&Options{Servers: 3, Fsync: true, Config: map[string]string{"syncEnabled": "false"}}).withDefaults()
	require.NoError(t, err)
	places := []place{{"a", 1, 2, 3}, {"b", 4, 5, 6}, {"c", 7, 8, 9}}
	cfg := strings.Split(zooCfg(o, places, 1, "/d"), "\n")
	for _, line := range []string{
		"dataDir=/d", "clientPort=4", "clientPortAddress=b", "server.1=a:2:3", "server.3=c:8:9",
		"forceSync=yes", "syncEnabled=false", "tickTime=200", "minSessionTimeout=400",
	} {
		require.Contains(t, cfg, line)
	}
	env := imageEnvironment(o, places, 2)
	require.Contains(t, env, "ZOO_MY_ID=3")
	require.Contains(t, env, "ZOO_SERVERS=server.1=a:2:3;1 server.2=b:5:6;4 server.3=c:8:9;7")
	require.Contains(t, env, "ZOO_TICK_TIME=200")
}
