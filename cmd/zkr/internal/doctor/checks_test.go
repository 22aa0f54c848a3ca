package doctor_test

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
)

// server makes the answers of a healthy leader of three; words replace some.
func server(words map[string]string) *doctor.Server {
	s := &doctor.Server{Address: "a:2181", Words: map[string]string{
		"srvr": "Zookeeper version: 3.9.5-x, built on 2025\nLatency min/avg/max: 0/50.0/900\nOutstanding: 100\nMode: leader\n",
		"mntr": "zk_watch_count\t1000000\nzk_open_file_descriptor_count\t79\nzk_max_file_descriptor_count\t100\nzk_approximate_data_size\t1000\nzk_synced_followers\t2\n",
		"conf": "dataDir=/d\ndataDirSize=2147483648\ndataLogDir=/d\ndataLogSize=2147483648\ntickTime=2000\nmaxClientCnxns=60\nminSessionTimeout=4000\nmaxSessionTimeout=40000\nserver.1=a\nserver.2=b\nserver.3=c\n",
		"cons": " /10.0.0.1:5[1](queued=0,recved=1,sent=1,sid=0x1,lop=PING,est=1,to=6000,lcxid=0x1)\n\n",
	}}
	for word, answer := range words {
		s.Words[word] = answer
	}
	return s
}

func found(all []doctor.Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range all {
		out[f.Name] = true
	}
	return out
}

// None of these states can be had from a test server, nor at will from a real one: a server
// under load, full disks, several versions and an even number of servers.
func TestFindingsOfServersBeginAtTheirLimits(t *testing.T) {
	follower := map[string]string{"srvr": "Zookeeper version: 3.9.5-x\nMode: follower\n", "mntr": "", "cons": ""}
	three := []*doctor.Server{server(nil), server(follower), server(follower)}
	assert.Empty(t, found(doctor.Servers(three)), "all is at the limits")
	assert.Empty(t, doctor.NotSeen(three))
	many := ""
	for i := range 48 {
		many += fmt.Sprintf(" /10.0.0.1:%d[1](queued=0,recved=1,sent=0)\n", i+1)
	}
	for name, words := range map[string]map[string]string{
		"server.queue":        {"srvr": "Outstanding: 101\nMode: leader\n"},
		"server.slow":         {"srvr": "Latency min/avg/max: 0/50.1/90\nMode: leader\n"},
		"server.watches":      {"mntr": "zk_watch_count\t1000001\n"},
		"server.watch-leak":   {"srvr": "Node count: 5\nMode: leader\n", "wchs": "3 connections watching 10006 paths\nTotal watches:20000\n"},
		"server.files":        {"mntr": "zk_open_file_descriptor_count\t80\nzk_max_file_descriptor_count\t100\n"},
		"server.disk":         {"conf": "dataDir=/d\ndataDirSize=2147483649\ndataLogDir=/d\n"},
		"server.connections":  {"cons": many},
		"server.version":      {"srvr": "Zookeeper version: 3.9.3-x\nMode: leader\n"},
		"server.words":        {"gtmk": "306"},
		"ensemble.not-synced": {"mntr": "zk_synced_followers\t1\n"},
		"ensemble.versions":   {"srvr": "Zookeeper version: 3.9.6-x\nMode: leader\n"},
		"settings.differ":     {"conf": "tickTime=2000\nminSessionTimeout=4000\nmaxSessionTimeout=60000\nserver.1=a\nserver.2=b\nserver.3=c\n"},
		"ensemble.leaders":    {"srvr": "Mode: leader\n"},
		"timeout.unsound":     {"cons": " /10.0.0.1:5[1](sid=0x1,to=5999)\n"},
		"timeout.sync-limit":  {"conf": "tickTime=2000\nsyncLimit=4\nserver.1=a\nserver.2=b\nserver.3=c\n", "cons": " /10.0.0.1:5[1](sid=0x1,to=7999)\n"},
	} {
		all := []*doctor.Server{server(words), server(follower), server(follower)}
		if name == "ensemble.leaders" {
			all[1] = server(nil)
		}
		assert.True(t, found(doctor.Servers(all))[name], name)
	}
	sync := map[string]string{"conf": server(nil).Words["conf"] + "syncLimit=3\n"}
	assert.Empty(t, found(doctor.Servers([]*doctor.Server{server(sync), server(follower)}))["timeout.sync-limit"], "6 s are enough")
	assert.True(t, found(doctor.Servers([]*doctor.Server{server(sync), server(follower)}))["settings.differ"])
	watched := map[string]string{"srvr": server(nil).Words["srvr"] + "Node count: 5\n", "wchs": "1 connections watching 10005 paths\nTotal watches:10005"}
	assert.Empty(t, found(doctor.Servers([]*doctor.Server{server(watched), server(follower), server(follower)})))
	fourth := server(map[string]string{"conf": server(nil).Words["conf"] + "server.4=d\n"})
	assert.True(t, found(doctor.Servers([]*doctor.Server{fourth, server(follower), server(follower)}))["ensemble.even"])
	assert.Len(t, doctor.NotSeen(three[:2]), 1, "a member that was not asked")
}

// An observer does not vote, a server may have two addresses, and one that does not tell its
// mode may be the leader.
func TestHealthyEnsemblesHaveNoFindings(t *testing.T) {
	follower := map[string]string{"srvr": "Zookeeper version: 3.9.5-x\nMode: follower\n", "mntr": "", "cons": ""}
	observer := map[string]string{"srvr": "Zookeeper version: 3.9.5-x\nMode: observer\n", "mntr": "", "cons": ""}
	leader := func() *doctor.Server { return server(nil) }
	twice := func() *doctor.Server {
		return server(map[string]string{"conf": "serverId=1\n" + server(nil).Words["conf"]})
	}
	untold := func() *doctor.Server { return &doctor.Server{Refused: []string{"srvr"}} }
	told := func(mode string) *doctor.Server {
		return &doctor.Server{Words: map[string]string{"srvr": "Zookeeper version: 3.9.5-x\nMode: " + mode + "\n"}}
	}
	for name, all := range map[string][]*doctor.Server{
		"an observer":             {leader(), server(follower), server(follower), server(observer)},
		"an observer in conf":     {leader(), server(follower), server(follower), server(observer), server(observer)},
		"two addresses":           {twice(), twice(), server(follower), server(follower)},
		"no word is allowed":      {untold(), untold(), untold()},
		"only an observer allows": {untold(), untold(), untold(), server(observer)},
		"two of three names":      {untold(), untold()},
		"only srvr is allowed":    {told("leader"), told("follower")},
	} {
		assert.Empty(t, found(doctor.Servers(all)), name)
	}
	assert.Len(t, doctor.NotSeen([]*doctor.Server{leader(), server(follower), server(observer)}), 1, "a voter was not asked")
	assert.True(t, found(doctor.Servers([]*doctor.Server{leader(), server(nil), server(follower)}))["ensemble.leaders"], "their numbers are not known")
}

// The members that were not asked may have a quorum. A server without a quorum answers no word
// but one, so that the number of members is known only from others.
func TestNoLeaderIsSureIfTheOthersAreNoMajority(t *testing.T) {
	refusing := func() *doctor.Server {
		return &doctor.Server{Words: map[string]string{"srvr": "This ZooKeeper instance is not currently serving requests\n"}}
	}
	readOnly := func() *doctor.Server {
		return server(map[string]string{"srvr": "Zookeeper version: 3.9.5-x\nMode: read-only\n", "mntr": "", "cons": ""})
	}
	away := func() *doctor.Server { return &doctor.Server{Err: io.EOF} }
	for name, c := range map[string]struct {
		all  []*doctor.Server
		sure bool
	}{
		"one":                             {[]*doctor.Server{refusing()}, false},
		"two, of which one is away":       {[]*doctor.Server{refusing(), away()}, false},
		"three, of which two are away":    {[]*doctor.Server{refusing(), away(), away()}, true},
		"one of three members":            {[]*doctor.Server{readOnly()}, false},
		"two of three members":            {[]*doctor.Server{readOnly(), refusing()}, true},
		"all members, and one leads":      {[]*doctor.Server{refusing(), refusing(), server(nil)}, false},
		"three, and no server can be had": {[]*doctor.Server{away(), away(), away()}, false},
	} {
		assert.Equal(t, c.sure, found(doctor.Servers(c.all))["ensemble.no-leader"], name)
		unsure := slices.ContainsFunc(doctor.NotSeen(c.all), func(u doctor.Unseen) bool { return strings.Contains(u.What, "whether there is a leader") })
		assert.Equal(t, strings.HasPrefix(name, "one") || strings.HasPrefix(name, "two, "), unsure, name)
	}
}

// A reader of the documentation knows for how long zkr waits for a server.
func TestDocumentationHasTheBoundOfAnAnswer(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/doctor.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(text), "### server.unreachable\n")
	section, _, _ = strings.Cut(section, "###")
	assert.Contains(t, section, "within `--connect-timeout`")
	assert.Contains(t, section, fmt.Sprintf("%.0f seconds for `zkr ui` and `zkr exporter`", doctor.AuditPatience.Seconds()))
}

func TestFaultsOfVersionsEndWhereTheyWereFixed(t *testing.T) {
	for version, want := range map[string]bool{"3.4.14": true, "3.7.2": true, "3.8.3": true, "3.8.4": true, "3.9.0": true, "3.9.2": true, "3.9.3": true, "3.9.4": true, "3.9.5": false, "3.10.0": false} {
		s := server(map[string]string{"srvr": "Zookeeper version: " + version + "-1, built\nMode: leader\n"})
		assert.Equal(t, want, found(doctor.Servers([]*doctor.Server{s}))["server.version"], version)
	}
}

// The clocks of a test and of its servers are one.
func TestClocksMayDifferByTwoSeconds(t *testing.T) {
	now := time.Now()
	assert.Empty(t, doctor.Clock(now.Add(2*time.Second), now.Add(-time.Second), now))
	assert.Empty(t, doctor.Clock(now.Add(-3*time.Second), now.Add(-time.Second), now))
	assert.Len(t, doctor.Clock(now.Add(2001*time.Millisecond), now.Add(-time.Second), now), 1)
	assert.Len(t, doctor.Clock(now.Add(-3001*time.Millisecond), now.Add(-time.Second), now), 1)
}
