//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// diagnosis is what "zkr doctor" prints as JSON.
type diagnosis struct {
	Servers   []struct{ Mode string }
	Findings  []doctor.Finding
	NotSeen   []doctor.Unseen `json:"not_seen"`
	RoundTrip *struct {
		Median float64 `json:"median_ms"`
	} `json:"round_trip"`
	Failover *struct {
		From, To string
		Kept     bool
	}
}

func diagnose(t *testing.T, servers string, args ...string) diagnosis {
	t.Helper()
	d, z := tryToDiagnose(t, servers, args...)
	require.NotNil(t, d, "%s%s", z.out, z.err)
	return *d
}

// tryToDiagnose returns no diagnosis if zkr fails, as it may while servers come and go.
func tryToDiagnose(t *testing.T, servers string, args ...string) (d *diagnosis, z *zkrProcess) {
	t.Helper()
	z = start(t, command(servers, append([]string{"doctor", "-o", "json"}, args...)...)).wait()
	if z.out.String() == "" {
		return nil, z
	}
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &d), "%s%s", z.out, z.err)
	serious := slices.ContainsFunc(d.Findings, func(f doctor.Finding) bool { return f.Level.IsSerious() })
	assert.Equal(t, serious, z.code == exit.CodeFailed, "the exit code is that of the findings: %s%s", z.out, z.err)
	return d, z
}

func (b *bed) diagnose(args ...string) diagnosis {
	b.Helper()
	return diagnose(b.T, b.srv.Addr(), args...)
}

// finds returns how many findings with a name there are; -1 if zkr fails.
func (b *bed) finds(name string, args ...string) int {
	b.Helper()
	d, _ := tryToDiagnose(b.T, b.srv.Addr(), args...)
	if d == nil {
		return -1
	}
	return len(d.where(name))
}

// where are the places of the findings with a name.
func (d diagnosis) where(name string) (out []string) {
	for _, f := range d.Findings {
		if f.Name == name {
			out = append(out, f.Where)
		}
	}
	return out
}

func TestEachFindingOfDoctorHasASection(t *testing.T) {
	text, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^### (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		sections = append(sections, m[1])
	}
	slices.Sort(sections)
	assert.Equal(t, doctor.Names(), sections)
	for _, kind := range []recognize.Kind{
		recognize.Mutex, recognize.RWLock, recognize.Semaphore, recognize.Election, recognize.Gate, recognize.Barrier, recognize.Double, recognize.Counter,
		recognize.Value, recognize.Group, recognize.Service, recognize.Job, recognize.Rebalancer, recognize.Tasks, recognize.Queue,
	} {
		assert.Contains(t, sections, doctor.ApplicationName(kind))
	}
}

// soonAway is for ensembles without a quorum, to which no session is had.
//
// read only
var soonAway = []string{"--connect-timeout", "1s", "--no-write"}

func TestDoctorSeesServersComeAndGo(t *testing.T) {
	b := newBedOf(t, 3)
	eventually(t, func() bool {
		servers := b.diagnose("--no-write").Servers
		return len(servers) == 3 && !slices.ContainsFunc(servers, func(s struct{ Mode string }) bool { return s.Mode == "" })
	}, "all serve")
	d := b.diagnose("--failover")
	for _, name := range []string{"server.unreachable", "server.not-serving", "ensemble.no-leader", "ensemble.single", "ensemble.leaders", "failover.lost", "roundtrip.failed", "timeout.unsound", "server.version"} {
		assert.Empty(t, d.where(name), name)
	}
	require.NotNil(t, d.RoundTrip)
	assert.Positive(t, d.RoundTrip.Median)
	require.NotNil(t, d.Failover)
	assert.True(t, d.Failover.Kept)
	assert.NotEmpty(t, d.Failover.To, "on a busy machine the former server may be the first to answer again")
	names, err := b.srv.Children("/")
	require.NoError(t, err)
	assert.Equal(t, []string{"zookeeper"}, names, "the scratch path was removed")

	follower := b.srv.Leader()%3 + 1
	require.NoError(t, b.srv.Stop(follower))
	assert.Equal(t, []string{b.srv.ServerAddr(follower)}, b.diagnose("--no-write").where("server.unreachable"))
	other := follower%3 + 1
	require.NoError(t, b.srv.Stop(other))
	eventually(t, func() bool { return b.finds("ensemble.no-leader", soonAway...) == 1 }, "the last server notices")
	assert.Len(t, b.diagnose(soonAway...).where("server.not-serving"), 1)
	require.NoError(t, b.srv.Restart(follower))
	require.NoError(t, b.srv.Restart(other))
	require.NoError(t, b.srv.WaitLeader(b.ctx))
	eventually(t, func() bool { return b.finds("server.not-serving", "--no-write") == 0 }, "all serve")
}

func TestDoctorOfReadOnlyServer(t *testing.T) {
	b := newBedWith(t, &zktest.Options{Servers: 3, MaxSessionTimeout: longest, ReadOnly: true})
	require.NoError(t, b.srv.Stop(1))
	require.NoError(t, b.srv.Stop(2))
	eventually(t, func() bool { return b.finds("server.read-only", soonAway...) == 1 }, "the last server is read-only")
}

func TestDoctorOfTwoEnsemblesInOneList(t *testing.T) {
	b := newBed(t)
	d := b.diagnose()
	assert.Empty(t, d.where("ensemble.leaders"))
	assert.Len(t, d.where("ensemble.single"), 1)
	other, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = other.Close() })
	d = diagnose(t, b.srv.Addr()+","+other.Addr(), "--no-write")
	assert.Len(t, d.where("ensemble.leaders"), 1)
	assert.Len(t, d.where("settings.differ"), 1, "their ticks differ")
}

func TestDoctorOfTimeoutsThatAreTooShort(t *testing.T) {
	b := newBedWith(t, &zktest.Options{MinSessionTimeout: tick, MaxSessionTimeout: longest})
	assert.Len(t, b.diagnose("--no-write").where("timeout.unsound"), 1)
	s, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{Timeout: 2 * tick, TickTime: tick})
	require.NoError(t, err)
	// On a busy machine the session may be between two connections.
	eventually(t, func() bool { return b.finds("timeout.unsound", "--no-write") == 2 }, "the session is one, too")
	require.NoError(t, s.Close(b.ctx))
	assert.Len(t, b.diagnose("--no-write").where("timeout.unsound"), 1)
}

func TestDoctorOfData(t *testing.T) {
	b := newBed(t)
	b.orphan("/lost")
	for i := range 5300 {
		require.NoError(t, b.srv.Create(fmt.Sprintf("/lost-%s%d", strings.Repeat("x", 90), i), nil))
	}
	d := b.diagnose("--no-write")
	assert.Equal(t, []string{"/"}, d.where("parent.large"))
	assert.Len(t, d.where("app.mutex"), 1)
	assert.Equal(t, []string{"/"}, d.where("acl.open"))
	s, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = s.SetACL(b.ctx, "/lost", session.WorldACL(session.PermRead), -1)
	require.NoError(t, err)
	require.NoError(t, b.srv.DeleteAll("/lost/"+b.contenders("/lost")[0]))
	d = b.diagnose("/lost")
	for _, name := range []string{"parent.large", "app.mutex", "acl.open"} {
		assert.Empty(t, d.where(name), name)
	}
	assert.True(t, slices.ContainsFunc(d.NotSeen, func(u doctor.Unseen) bool { return strings.Contains(u.What, "may not be created") }))
}

// A lock that is never granted, and a session that ends after the cut.
func TestDoctorOfFailures(t *testing.T) {
	b := newBed(t)
	expire := func(op, part string) (remove func()) {
		return b.srv.OnRequest(func(r zktest.Request) zktest.Action {
			if strings.Contains(r.Op, op) && strings.Contains(r.Path, "zkr-doctor-") && strings.Contains(r.Path, part) {
				return zktest.Action{Do: zktest.ExpireBefore}
			}
			return zktest.Action{}
		})
	}
	remove := expire("create", "/lock/")
	assert.Len(t, b.diagnose("--connect-timeout", "10s").where("roundtrip.failed"), 1)
	remove()
	remove = expire("exists", "/failover/")
	d := b.diagnose("--failover")
	assert.Len(t, d.where("failover.lost"), 1)
	require.NotNil(t, d.Failover)
	assert.False(t, d.Failover.Kept)
	remove()
	d = b.diagnose("--failover")
	assert.Empty(t, d.where("roundtrip.failed"))
	assert.Empty(t, d.where("failover.lost"))
}

// atAccessLists calls do at each read of an access list.
func (b *bed) atAccessLists(do func(zktest.Request) zktest.Action) (remove func()) {
	return b.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "getACL" {
			return do(r)
		}
		return zktest.Action{}
	})
}

// zkr shows what it saw before and after the lost session.
func TestDoctorGoesOnAfterALostSession(t *testing.T) {
	b := newBed(t)
	b.orphan("/lost")
	remove := b.atAccessLists(func(zktest.Request) zktest.Action { return zktest.Action{Do: zktest.ExpireBefore} })
	d := b.diagnose()
	assert.Len(t, d.where("session.failed"), 1)
	assert.Len(t, d.where("app.mutex"), 1, "seen before")
	assert.NotNil(t, d.RoundTrip, "made after")
	assert.Len(t, d.Servers, 1)
	assert.True(t, slices.ContainsFunc(d.NotSeen, func(u doctor.Unseen) bool { return strings.HasPrefix(u.What, "access lists") }))
	remove()
	assert.Empty(t, b.diagnose().where("session.failed"))
}

func TestDoctorGoesOnAfterItsServerHasGone(t *testing.T) {
	b := newBed(t)
	b.orphan("/lost")
	b.atAccessLists(func(zktest.Request) zktest.Action {
		assert.NoError(t, b.srv.Stop(1))
		return zktest.Action{}
	})
	d := b.diagnose("--connect-timeout", "10s", "--no-write")
	assert.Len(t, d.where("session.failed"), 1)
	assert.Len(t, d.where("app.mutex"), 1)
	assert.Len(t, d.where("server.unreachable"), 1)
}

func TestDoctorFindsAHolderThatIsPaused(t *testing.T) {
	b := newBed(t)
	holder := b.start(running([]string{"lock", "/app/report", "--session-timeout", longest.String()}, "sh", "-c", "echo in; exec sleep 1000")...)
	holder.says("in")
	assert.Empty(t, b.diagnose("--no-write").where("holder.silent"))
	require.NoError(t, holder.cmd.Process.Signal(syscall.SIGSTOP))
	eventually(t, func() bool { return b.finds("holder.silent", "--no-write") == 1 }, "no answer for half of its session timeout")
	require.NoError(t, holder.cmd.Process.Signal(syscall.SIGCONT))
	eventually(t, func() bool { return b.finds("holder.silent", "--no-write") == 0 }, "the holder goes on")
}

func TestDoctorIsReadable(t *testing.T) {
	b := newBed(t)
	b.orphan("/lost")
	z := b.run("doctor").ends(exit.CodeFailed)
	assert.True(t, strings.HasPrefix(z.out.String(), "bad   app.mutex  /lost/"), z.out)
	assert.Contains(t, z.out.String(), "      more:     docs/doctor.md#appmutex\n")
	assert.Contains(t, z.out.String(), "a lock was acquired and released 5 times")
	for line := range strings.Lines(z.out.String()) {
		assert.LessOrEqual(t, len(line), 130, line)
	}
}

// TestDoctorOnApache: by default servers allow only srvr.
func TestDoctorOnApache(t *testing.T) {
	t.Parallel()
	open := apache.Require(t, &apache.Options{Heap: 96, TickTime: apacheTick, Own: true, Config: map[string]string{"maxClientCnxns": "4"}})
	d := diagnose(t, open.Connect(), "--failover")
	assert.Len(t, d.where("server.words"), 1)
	require.NotNil(t, d.Failover)
	assert.True(t, d.Failover.Kept)
	assert.Empty(t, d.where("server.connections"))
	for range 2 {
		c, err := session.Connect(t.Context(), open.Connect(), &session.Options{Timeout: 3 * apacheTick})
		require.NoError(t, err)
		defer func() { _ = c.Close(t.Context()) }()
	}
	d = diagnose(t, open.Connect(), "--no-write")
	assert.Len(t, d.where("server.connections"), 1, "the two, that of the session, and the one that asks")
	assert.Empty(t, d.where("timeout.unsound"))
	third, err := session.Connect(t.Context(), open.Connect(), &session.Options{Timeout: 3 * apacheTick})
	require.NoError(t, err)
	d = diagnose(t, open.Connect(), "--failover", "--connect-timeout", "10s")
	assert.Len(t, d.where("session.failed"), 1, "no connection is left for the failover")
	assert.NotNil(t, d.RoundTrip)
	require.NoError(t, third.Close(t.Context()))
	assert.Empty(t, diagnose(t, open.Connect(), "--no-write").where("session.failed"))

	closed := apache.Require(t, &apache.Options{Heap: 96, TickTime: apacheTick, Own: true, Config: map[string]string{"4lw.commands.whitelist": "srvr"}})
	d = diagnose(t, closed.Connect())
	assert.Empty(t, d.where("server.words"))
	assert.True(t, slices.ContainsFunc(d.NotSeen, func(u doctor.Unseen) bool { return strings.Contains(u.What, "not allowed: mntr, conf, cons") }), d.NotSeen)
	assert.Less(t, time.Duration(d.RoundTrip.Median*float64(time.Millisecond)), limit)
}
