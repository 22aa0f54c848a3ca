package zktest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// startTCP starts a server on sockets, ends the server with the test, and
// checks for leaked goroutines.
func startTCP(t *testing.T, o *zktest.Options) *zktest.Server {
	t.Helper()
	before := goleak.IgnoreCurrent()
	s, err := zktest.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		goleak.VerifyNone(t, before)
	})
	return s
}

func waitLeader(t *testing.T, s *zktest.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, s.WaitLeader(ctx))
}

func TestCloseOverTCPLeavesNothingBehind(t *testing.T) {
	s := startTCP(t, nil)
	idle, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	r := openRaw(t, s, 1)
	require.Equal(t, proto.OK, r.call(proto.OpCreate, create("/a", 0)).code)
	s.BlackHole(zktest.Link{}, zktest.Both)
	require.NoError(t, s.Close())
	_ = idle.SetReadDeadline(time.Now().Add(time.Minute))
	_, err = idle.Read(make([]byte, 1))
	require.Error(t, err)
	var ne net.Error
	require.False(t, errorsAs(err, &ne) && ne.Timeout(), "closed, not silent")
}

func errorsAs(err error, target *net.Error) bool {
	return errors.As(err, target)
}

func TestRestartOverTCPListensOnTheSameAddress(t *testing.T) {
	s := startTCP(t, &zktest.Options{Servers: 3, SyncLimit: 30, ElectionDelay: time.Millisecond})
	waitLeader(t, s)
	r := openRaw(t, s, 2)
	require.NoError(t, s.Stop(2))
	_, err := r.readFrame()
	require.Error(t, err)
	_, err = s.Dial(context.Background(), "tcp", s.ServerAddr(2))
	require.Error(t, err)
	require.NoError(t, s.Restart(2))
	require.Eventually(t, func() bool { return strings.Contains(s.FourLetter(2, "srvr"), "Mode: follower") || s.Leader() == 2 },
		time.Minute, 5*time.Millisecond)
	require.NotZero(t, openRaw(t, s, 2).session)
}

func TestHolesAndCutsOverTCP(t *testing.T) {
	s := startTCP(t, nil)
	r := openRaw(t, s, 1)
	s.BlackHole(zktest.Link{Session: r.session}, zktest.ToServer)
	xid := r.send(proto.OpCreate, create("/a", 0))
	r.wantSilence(50 * time.Millisecond)
	s.Heal()
	require.Equal(t, xid, r.receiveReply().xid)
	s.FailNth(nil, 1, zktest.Action{Do: zktest.DropReplyCut})
	r.send(proto.OpCreate, create("/b", 0))
	_, err := r.readFrame()
	require.Error(t, err)
	_, err = s.Get("/b")
	require.NoError(t, err)
}

// askWord asks a four-letter word over the wire.
func askWord(t *testing.T, s *zktest.Server, addr, w string) string {
	t.Helper()
	c, err := s.Dial(context.Background(), "tcp", addr)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = c.Write([]byte(w))
	require.NoError(t, err)
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(b)
}

func TestFourLetterWordsAsGoZookeeperReadsThem(t *testing.T) {
	s := startTCP(t, nil)
	r := openRaw(t, s, 1)
	r.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
	r.call(proto.OpExists, pathWatch("/e", true))
	servers := []string{s.Addr()}

	require.Equal(t, []bool{true}, zk.FLWRuok(servers, 5*time.Second))
	stats, ok := zk.FLWSrvr(servers, 5*time.Second)
	require.True(t, ok)
	require.Equal(t, zk.ModeStandalone, stats[0].Mode)
	require.EqualValues(t, 6, stats[0].NodeCount)
	require.EqualValues(t, 2, stats[0].Counter)
	cons, ok := zk.FLWCons(servers, 5*time.Second)
	require.True(t, ok)
	require.Len(t, cons[0].Clients, 1)
	require.Equal(t, r.session, cons[0].Clients[0].SessionID)
	require.EqualValues(t, 10000, cons[0].Clients[0].Timeout)
	require.Equal(t, r.conn.LocalAddr().String(), cons[0].Clients[0].Addr)
}

func TestFourLetterWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startMemory(t, threeServers())
		require.Equal(t, "imok", s.FourLetter(1, "ruok"))
		require.Contains(t, s.FourLetter(1, "srvr"), "not currently serving")
		require.Equal(t, "null", s.FourLetter(1, "isro"))
		time.Sleep(time.Second)
		f, _ := followers(s)
		r := openRaw(t, s, f)
		r.call(proto.OpCreate, create("/e", proto.FlagEphemeral))
		r.call(proto.OpExists, pathWatch("/e", true))
		time.Sleep(time.Second)
		for w, wants := range map[string][]string{
			"srvr": {"Mode: follower", "Zxid: 0x10000000", "Node count: 6", "Connections: 1"},
			"stat": {"Clients:", "Mode: follower"},
			"mntr": {"zk_server_state\tfollower\n", "zk_watch_count\t1\n", "zk_ephemerals_count\t1\n", "zk_znode_count\t6\n"},
			"cons": {"to=10000", "lop=exists"},
			"dump": {"Sessions with Ephemerals (1):", "\t/e\n"},
			"wchs": {"1 connections watching 1 paths\nTotal watches:1"},
			"wchc": {"\t/e\n"},
			"wchp": {"/e\n\t0x"},
			"conf": {"tickTime=2000", "serverId="},
			"envi": {"zookeeper.version="},
			"dirs": {"datadir_size: 0\nlogdir_size: 0\n"},
			"isro": {"rw"},
		} {
			text := s.FourLetter(f, w)
			for _, want := range wants {
				require.Contains(t, text, want, w)
			}
			if w != "srvr" && w != "stat" && w != "mntr" && w != "cons" {
				require.Equal(t, text, askWord(t, s, s.ServerAddr(f), w))
			}
		}
		require.Contains(t, s.FourLetter(s.Leader(), "mntr"), "zk_followers\t2\n")
		require.Empty(t, s.FourLetter(1, "what"))
		require.Empty(t, s.FourLetter(7, "ruok"))
	})
}
