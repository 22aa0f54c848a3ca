package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
	"golang.org/x/sys/unix"
)

// ailing is a real ensemble that has one fault after the other.
type ailing struct {
	*testing.T
	cluster *apache.Cluster
	client  *session.Client
}

func newAiling(t *testing.T, o *apache.Options) *ailing {
	o.Own, o.Heap, o.TickTime = true, 96, apacheTick
	a := &ailing{T: t, cluster: apache.Require(t, o)}
	var err error
	a.client, err = session.Connect(t.Context(), a.cluster.Connect(), &session.Options{Timeout: 60 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_ = a.client.Close(ctx)
	})
	return a
}

// finds waits until zkr doctor has a finding of each of the names.
func (a *ailing) finds(args []string, names ...string) {
	a.Helper()
	for _, name := range names {
		eventually(a.T, func() bool {
			d, _ := tryToDiagnose(a.T, a.cluster.Connect(), args...)
			return d != nil && len(d.where(name)) > 0
		}, "finding %s", name)
	}
}

// isHealed waits until zkr doctor has no finding of any of the names.
func (a *ailing) isHealed(names ...string) {
	a.Helper()
	eventually(a.T, func() bool {
		d, _ := tryToDiagnose(a.T, a.cluster.Connect(), withoutWrites...)
		return d != nil && !slices.ContainsFunc(names, func(name string) bool { return len(d.where(name)) > 0 })
	}, "no finding of %s", names)
}

// read only
var withoutWrites = []string{"--no-write"}

func (a *ailing) session() *session.Session {
	a.Helper()
	s, err := a.client.Session(a.Context())
	require.NoError(a, err)
	return s
}

func (a *ailing) leader() (leader int) {
	a.Helper()
	eventually(a.T, func() (ok bool) {
		var err error
		leader, err = a.cluster.Leader(a.Context())
		return err == nil
	}, "there is a leader")
	return leader
}

// ask is the answer of server i to a word, which a busy server may not give in time.
func (a *ailing) ask(i int, word string) (answer string) {
	a.Helper()
	eventually(a.T, func() bool {
		var err error
		answer, err = a.cluster.FourLetter(a.Context(), i, word)
		return err == nil
	}, "%s of server %d", word, i)
	return answer
}

// setting is what server i answers to the word conf.
func (a *ailing) setting(i int, key string) string {
	a.Helper()
	conf := a.ask(i, "conf")
	m := regexp.MustCompile("(?m)^" + key + "=(.*)$").FindStringSubmatch(conf)
	require.NotNil(a, m, conf)
	return m[1]
}

// dataDir is the directory of the logs and snapshots of server i.
func (a *ailing) dataDir(i int) string { return a.setting(i, "dataDir") }

// configuration is the file with the configuration of server i.
func (a *ailing) configuration(i int) string {
	a.Helper()
	return filepath.Join(filepath.Dir(filepath.Dir(a.dataDir(i))), "zoo.cfg")
}

// membersFile is the file in which a server with that configuration finds the members of its
// ensemble; each reconfiguration makes another one.
func (a *ailing) membersFile(configuration string) string {
	a.Helper()
	text, err := os.ReadFile(configuration)
	require.NoError(a, err)
	m := regexp.MustCompile("(?m)^dynamicConfigFile=(.*)$").FindSubmatch(text)
	require.NotNil(a, m, string(text))
	return string(m[1])
}

// pid is the process of server i: its arguments name the folder of its data.
func (a *ailing) pid(i int) int {
	a.Helper()
	configuration := []byte(a.configuration(i))
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(a, err)
	for _, at := range all {
		if text, err := os.ReadFile(at); err == nil && bytes.Contains(text, configuration) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(at)))
			require.NoError(a, err)
			return pid
		}
	}
	a.Fatalf("no process has %s", configuration)
	return 0
}

// stateFindings are those about an ensemble that does not run as it should; a busy machine may
// make any server slow.
//
// read only
var stateFindings = []string{
	"server.unreachable", "server.not-serving", "server.read-only", "server.queue", "server.files", "server.disk", "server.connections", "server.watches",
	"ensemble.no-leader", "ensemble.leaders", "ensemble.not-synced", "ensemble.single", "ensemble.even", "ensemble.versions", "settings.differ", "timeout.unsound",
}

// TestDoctorOnAnAilingApacheEnsemble brings about one fault after the other, sees its finding,
// and repairs it. The tests of rarer faults have servers of their own: doctor_rare_linux_test.go.
func TestDoctorOnAnAilingApacheEnsemble(t *testing.T) {
	t.Parallel()
	a := newAiling(t, &apache.Options{
		Servers: 3, Mode: apache.Jars, SyncLimit: 60,
		Config:     map[string]string{"reconfigEnabled": "true", "standaloneEnabled": "false", "enforceQuota": "true"},
		Properties: map[string]string{"zookeeper.skipACL": "yes", "zookeeper.enforceQuota": "true"},
	})
	a.isHealed(stateFindings...)
	a.killFollower()
	a.killMajority()
	a.limitFiles()
	a.fillDisk()
	a.stall()
	a.removeMember()
	a.limitQuota()
	a.isHealed(stateFindings...)
}

func (a *ailing) killFollower() {
	follower := (a.leader() + 1) % 3
	require.NoError(a, a.cluster.Kill(a.Context(), follower))
	a.finds(withoutWrites, "server.unreachable", "ensemble.not-synced")
	require.NoError(a, a.cluster.Restart(a.Context(), follower))
	a.isHealed("server.unreachable", "ensemble.not-synced")
}

func (a *ailing) killMajority() {
	leader := a.leader()
	other := (leader + 1) % 3
	require.NoError(a, a.cluster.Kill(a.Context(), other))
	require.NoError(a, a.cluster.Kill(a.Context(), leader))
	a.finds(soonAway, "server.not-serving", "ensemble.no-leader")
	require.NoError(a, a.cluster.Launch(a.Context(), other))
	require.NoError(a, a.cluster.Launch(a.Context(), leader))
	require.NoError(a, a.cluster.Await(a.Context()))
	a.isHealed("server.not-serving", "ensemble.no-leader")
}

// limitFiles gives a server a limit of open files that the server has nearly reached.
func (a *ailing) limitFiles() {
	var former unix.Rlimit
	pid := a.pid(0)
	require.NoError(a, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &former))
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	require.NoError(a, err)
	tight := former
	tight.Cur = uint64(len(open)) * 10 / 9
	require.NoError(a, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &tight, nil))
	a.finds(withoutWrites, "server.files")
	require.NoError(a, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &former, nil))
	a.isHealed("server.files")
}

// fillDisk makes a file without contents, which takes no space.
func (a *ailing) fillDisk() {
	file := filepath.Join(a.dataDir(1), "left-over")
	require.NoError(a, os.WriteFile(file, nil, 0o600))
	require.NoError(a, os.Truncate(file, 3<<30))
	a.finds(withoutWrites, "server.disk")
	require.NoError(a, os.Remove(file))
	a.isHealed("server.disk")
}

// stall pauses the followers, so that the leader cannot commit what a client sends.
func (a *ailing) stall() {
	leader := a.leader()
	conn, _, err := zk.Connect([]string{a.cluster.Servers()[leader]}, 60*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	require.NoError(a, err)
	defer conn.Close()
	_, err = conn.Create("/stalled", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(a, err)
	pause := func(do func(context.Context, int) error) {
		for i := range 3 {
			if i != leader {
				require.NoError(a, do(a.Context(), i))
			}
		}
	}
	pause(a.cluster.Pause)
	const writes = 200
	answered := make(chan error, writes)
	for range writes {
		// Waited for below; ends when the followers go on.
		go func() {
			_, err := conn.Set("/stalled", nil, -1)
			answered <- err
		}()
	}
	a.finds(soonAway, "server.queue")
	pause(a.cluster.Resume)
	for range writes {
		require.NoError(a, <-answered)
	}
	a.finds(withoutWrites, "server.slow")
	// A busy machine may be slow again at once, so its servers are reset each time.
	eventually(a.T, func() bool {
		for i := range 3 {
			a.ask(i, "srst")
		}
		d, _ := tryToDiagnose(a.T, a.cluster.Connect(), withoutWrites...)
		return d != nil && len(d.where("server.slow")) == 0
	}, "no finding of server.slow")
	a.isHealed("server.queue", "server.unreachable")
}

// removeMember takes a follower out of the ensemble, and back into it.
func (a *ailing) removeMember() {
	leader := a.leader()
	other := (leader + 1) % 3
	member := a.cluster.Member(other)
	configuration := a.configuration(other)
	a.reconfigure(leader, nil, []string{strconv.Itoa(other + 1)})
	a.finds(withoutWrites, "ensemble.even")
	require.NoError(a, a.cluster.Kill(a.Context(), other))
	a.reconfigure(leader, []string{member}, nil)
	// A server that its own configuration does not name ends at once. One that runs may, or may
	// not, hear in time that it joins again.
	current, err := os.ReadFile(a.membersFile(a.configuration(leader)))
	require.NoError(a, err)
	require.NoError(a, os.WriteFile(a.membersFile(configuration), current, 0o600))
	require.NoError(a, a.cluster.Launch(a.Context(), other))
	require.NoError(a, a.cluster.Await(a.Context()))
	a.isHealed("ensemble.even", "server.not-serving")
}

// reconfigure changes the ensemble, which may cost the connection.
func (a *ailing) reconfigure(leader int, joining, leaving []string) {
	a.Helper()
	conn, _, err := zk.Connect([]string{a.cluster.Servers()[leader]}, 10*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
	require.NoError(a, err)
	defer conn.Close()
	eventually(a.T, func() bool {
		_, err := conn.IncrementalReconfig(joining, leaving, -1)
		return err == nil
	}, "reconfigured: %v %v", joining, leaving)
}

// limitQuota forbids znodes below a path that is full.
func (a *ailing) limitQuota() {
	s := a.session()
	const quota = "/zookeeper/quota/full"
	const limits = quota + "/zookeeper_limits"
	_, err := s.Txn(a.Context(),
		session.CreateOp("/full", nil, session.Persistent, nil),
		session.CreateOp(quota, nil, session.Persistent, nil),
		session.CreateOp(quota+"/zookeeper_stats", []byte("count=1,bytes=0"), session.Persistent, nil),
		session.CreateOp(limits, []byte("countHardLimit=1"), session.Persistent, nil))
	require.NoError(a, err)
	a.finds([]string{"/full"}, "roundtrip.failed")
	require.NoError(a, s.Delete(a.Context(), limits, -1))
	assert.Empty(a, diagnose(a.T, a.cluster.Connect(), "/full").where("roundtrip.failed"))
}

// A server that serves without a quorum.
func TestDoctorOfReadOnlyServerOnApache(t *testing.T) {
	t.Parallel()
	a := newAiling(t, &apache.Options{Servers: 3, Properties: map[string]string{"readonlymode.enabled": "true"}})
	for i := range 2 {
		require.NoError(t, a.cluster.Kill(t.Context(), i))
	}
	a.finds(soonAway, "server.read-only")
	for i := range 2 {
		require.NoError(t, a.cluster.Launch(t.Context(), i))
	}
	require.NoError(t, a.cluster.Await(t.Context()))
	a.isHealed("server.read-only")
}

// Two servers that are no ensemble, of which one grants timeouts that are too short; and data.
func TestDoctorOfTwoApacheServersInOneList(t *testing.T) {
	t.Parallel()
	good, bad := newAiling(t, &apache.Options{}), newAiling(t, &apache.Options{MinSessionTimeout: apacheTick})
	d := diagnose(t, good.cluster.Connect()+","+bad.cluster.Connect(), "--no-write")
	assert.Len(t, d.where("ensemble.leaders"), 1)
	assert.Len(t, d.where("ensemble.single"), 2)
	assert.Len(t, d.where("settings.differ"), 1)
	assert.Equal(t, bad.cluster.Servers(), d.where("timeout.unsound"))
	good.isHealed("ensemble.leaders", "settings.differ", "timeout.unsound")

	s := good.session()
	require.NoError(t, s.EnsurePath(t.Context(), "/app/lock", session.Persistent, nil))
	orphan, err := s.Create(t.Context(), "/app/lock/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82f-lock-", nil, session.PersistentSequential, nil)
	require.NoError(t, err)
	const children = 5300
	long := func(i int) string { return fmt.Sprintf("/app/%s%d", strings.Repeat("x", 95), i) }
	var all []*session.Future[session.Node]
	for i := range children {
		all = append(all, s.StartCreate(long(i), nil, session.Persistent, nil))
	}
	for _, f := range all {
		_, err := f.Wait(t.Context())
		require.NoError(t, err)
	}
	about := func(name string) []string {
		return diagnose(t, good.cluster.Connect(), "/app", "--no-write").where(name)
	}
	assert.Equal(t, []string{"/app"}, about("parent.large"))
	assert.Equal(t, []string{orphan.Path}, about("app.mutex"))
	assert.Equal(t, []string{"/app"}, about("acl.open"))
	require.NoError(t, s.Delete(t.Context(), orphan.Path, -1))
	_, err = s.SetACL(t.Context(), "/app/lock", session.WorldACL(session.PermRead), -1)
	require.NoError(t, err)
	var removals []*session.Future[struct{}]
	for i := range children / 2 {
		removals = append(removals, s.StartDelete(long(i), -1))
	}
	for _, f := range removals {
		_, err := f.Wait(t.Context())
		require.NoError(t, err)
	}
	_, err = s.SetACL(t.Context(), "/app", session.WorldACL(session.PermRead), -1)
	require.NoError(t, err)
	for _, name := range []string{"parent.large", "app.mutex", "acl.open"} {
		assert.Empty(t, about(name), name)
	}
}
