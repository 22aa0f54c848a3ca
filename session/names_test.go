package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestValidatePath(t *testing.T) {
	for _, good := range []string{"/", "/a", "/a/b", "/...", "/.a", "/a b", "/ä/日本", "/a:b", "/_c_x-lock-0000000001"} {
		assert.NoError(t, ValidatePath(good), good)
	}
	for _, bad := range []string{
		"", "a", "a/b", "//", "/a/", "/a//b", "//a", "/.", "/..", "/a/./b", "/a/../b",
		"/a\x00", "/a\nb", "/\x7f", "/\u0080", "/\ue000", "/\uf8ff", "/\ufff0", "/\xff\xfe",
	} {
		require.ErrorIs(t, ValidatePath(bad), ErrInvalidPath, "%q", bad)
	}
	assert.NoError(t, validatePrefix("/a/"), "a sequential node may have no name of its own")
	assert.NoError(t, validatePrefix("/"))
	require.ErrorIs(t, validatePrefix("//"), ErrInvalidPath)
	require.ErrorIs(t, validatePrefix("a/"), ErrInvalidPath)
}

func TestParentAndJoinAreInverse(t *testing.T) {
	assert.Equal(t, "/", parent("/"))
	assert.Equal(t, "/", parent("/a"))
	assert.Equal(t, "/a/b", parent("/a/b/c"))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,3}`), 0, 4).Draw(t, "names")
		dir := "/" + strings.Join(names, "/")
		child := rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "child")
		path := join(dir, child)
		assert.NoError(t, ValidatePath(path))
		assert.Equal(t, dir, parent(path))
	})
}

func TestChrootIsInvisible(t *testing.T) {
	for _, chroot := range []string{"", "/app", "/a/b"} {
		s := &Session{chroot: chroot}
		for _, path := range []string{"/", "/x", "/x/y"} {
			got, ok := s.visible(s.serverPath(path))
			assert.True(t, ok)
			assert.Equal(t, path, got)
		}
	}
	s := &Session{chroot: "/app"}
	for _, path := range []string{"/", "/ap", "/apple", "/other/app"} {
		_, ok := s.visible(path)
		assert.False(t, ok, path)
	}
	assert.Equal(t, "/app", s.serverPath("/"))
}

func TestSequence(t *testing.T) {
	for name, want := range map[string]int32{
		"0000000000": 0, "lock-0000000007": 7, "/a/b-2147483646": math.MaxInt32 - 1, "x0000000012": 12,
		"_c_3b9f-lock-0000000003": 3, "lock-2147483585": 2147483585, "-1000000000": 1000000000,
	} {
		got, err := Sequence(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	for name, want := range map[string]int32{
		"a2147483647": math.MaxInt32, "a--000000001": -1, "a-999999999": -999999999, "a-2147483648": math.MinInt32,
		"a-2147483647": math.MaxInt32, "--000000007": -7,
		"lock--2147483585": -2147483585, "--1000000000": -1000000000,
	} {
		got, err := Sequence(name)
		require.ErrorIs(t, err, ErrSequenceExhausted, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"", "lock", "000000001", "lock-00000000a1", "lock-+000000001", "lock-9999999999", "config", "0000000-01"} {
		_, err := Sequence(name)
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrSequenceExhausted, name)
	}
}

// The server's format is Java's "%010d".
func FuzzSequence(f *testing.F) {
	f.Add("lock-", int32(5))
	f.Add("", int32(-1))
	f.Add("x", int32(math.MinInt32))
	f.Add("lock-", int32(-2147483585))
	f.Add("__lock__", int32(-2147483585))
	f.Add("lock--", int32(2147483585))
	f.Fuzz(func(t *testing.T, prefix string, n int32) {
		name := prefix + fmt.Sprintf("%010d", n)
		got, err := Sequence(name)
		// Eleven characters are distinguished from ten by a minus at the end of
		// the prefix.
		if n >= 1e9 && strings.HasSuffix(prefix, "--") || n > math.MinInt32 && n <= -1e9 && !strings.HasSuffix(prefix, "-") {
			return
		}
		if n >= 0 && got != n {
			t.Fatalf("%q: %d, %v", name, got, err)
		}
		if (err == nil) != (n >= 0 && n < math.MaxInt32) {
			t.Fatalf("%q: %v", name, err)
		}
		_, _ = Sequence(prefix)
	})
}

func TestParseServers(t *testing.T) {
	for _, tc := range []struct {
		in, chroot string
		want       []string
	}{
		{"zk1", "", []string{"zk1:2181"}},
		{"zk1:2182", "", []string{"zk1:2182"}},
		{"zk1:2182, zk2 ,zk3:99", "", []string{"zk1:2182", "zk2:2181", "zk3:99"}},
		{"zk1/", "", []string{"zk1:2181"}},
		{"zk1,zk2/app/x", "/app/x", []string{"zk1:2181", "zk2:2181"}},
		{"[::1]:5,[fe80::1],::1", "", []string{"[::1]:5", "[fe80::1]:2181", "[::1]:2181"}},
		{"10.0.0.1:1", "", []string{"10.0.0.1:1"}},
	} {
		got, chroot, err := parseServers(tc.in)
		require.NoError(t, err, tc.in)
		assert.Equal(t, tc.want, got, tc.in)
		assert.Equal(t, tc.chroot, chroot, tc.in)
	}
	for _, bad := range []string{
		"", " ", "/app", ",", "zk1,", "zk1:0", "zk1:65536", "zk1:x", "zk1:", ":2181", "zk1//app", "zk1/app/",
		"[::1", "a:b:c", "zk1:2181:3", "zk1:1/app,zk2:2/app", "zk1/app,zk2:2",
		"[", "]", "[]", "[]:2181", "zk1,[", "[::1]]", "[[::1]", "x[::1]", "[::1]x", "zk1 zk2", "zk1\x00", "zk1\t:2181",
	} {
		_, _, err := parseServers(bad)
		require.ErrorIs(t, err, ErrInvalidServers, "%q", bad)
	}
	_, _, err := parseServers("zk1,[")
	require.ErrorContains(t, err, `"[" has brackets without an address; write [address] or [address]:port`)
	_, _, err = parseServers("zk1 zk2")
	require.ErrorContains(t, err, "separate servers with commas")
}

func FuzzParseServers(f *testing.F) {
	for _, seed := range []string{"zk1:2181,zk2/app", "[::1]:5", "a:b:c", "/", "zk1/,", "[", "[]", "]:1", "[0]0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		servers, chroot, err := parseServers(in)
		if err != nil {
			if !errors.Is(err, ErrInvalidServers) {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if chroot != "" && ValidatePath(chroot) != nil {
			t.Fatalf("%q: chroot %q", in, chroot)
		}
		if len(servers) == 0 {
			t.Fatalf("%q: no server", in)
		}
		for _, s := range servers {
			host, port, err := net.SplitHostPort(s)
			if strings.ContainsAny(host, "[] \t\n\x00") {
				t.Fatalf("%q: host %q", in, host)
			}
			if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 1 || n > 65535 {
				t.Fatalf("%q: server %q: %v", in, s, err)
			}
		}
	})
}

// CH62.
func TestRetryPausesDoubleUpToTheirLimit(t *testing.T) {
	r := Backoff{Min: 50 * time.Millisecond, Max: 5 * time.Second}
	for n, most := range map[int]time.Duration{
		-5: 0, 0: 0, 1: 50 * time.Millisecond, 2: 100 * time.Millisecond, 7: 3200 * time.Millisecond,
		8: 5 * time.Second, 31: 5 * time.Second, 32: 5 * time.Second, 1000: 5 * time.Second,
	} {
		for range 100 {
			got := r.pause(n, nil)
			assert.LessOrEqual(t, got, most)
			assert.GreaterOrEqual(t, got, most/2)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good, err := (*Options)(nil).withDefaults()
	require.NoError(t, err)
	assert.NotNil(t, good.Dialer)
	assert.NotNil(t, good.Logger)
	assert.Equal(t, Backoff{50 * time.Millisecond, time.Second}, good.Backoff)
	for field, o := range map[string]Options{
		"Timeout":               {Timeout: -1},
		"Timeout ":              {Timeout: 1500 * time.Microsecond},
		"Timeout  ":             {Timeout: 1 << 31 * time.Millisecond},
		"TickTime":              {TickTime: -1},
		"Trust":                 {Trust: 7},
		"Backoff":               {Backoff: Backoff{Min: -1}},
		"MaxReply":              {MaxReply: -1},
		"MaxRequest":            {MaxRequest: -1},
		"ACL":                   {ACL: []ACL{}},
		"Credentials[1].Scheme": {Credentials: []Credential{Digest("a", "b"), {}}},
	} {
		_, err := Connect(t.Context(), "192.0.2.1", &o)
		require.ErrorIs(t, err, ErrInvalidOption, field)
		require.ErrorContains(t, err, strings.TrimSpace(field)+" is")
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	assert.Equal(t, "session: get /a: "+ErrNoNode.Error(), (&OpError{"get", "/a", ErrNoNode}).Error())
	for op, right := range map[string]string{
		"get": "READ permission of the znode", "exists": "READ", "children": "READ", "set": "WRITE",
		"create": "CREATE permission of the parent znode", "delete": "DELETE",
	} {
		require.ErrorContains(t, &OpError{op, "/a", ErrNoAuth}, "(the client lacks the "+right)
		require.NotContains(t, (&OpError{op, "/a", ErrNoNode}).Error(), "lacks")
	}
	require.EqualError(t, &TxnError{Index: 1, Op: "check", Path: "/a", Err: ErrNoAuth},
		"session: transaction: operation 1 on /a: "+ErrNoAuth.Error()+" (the client lacks the READ permission of the znode)")
	unknown := &UnknownOutcomeError{"set", "/a", ErrExpired}
	require.ErrorIs(t, unknown, ErrUnknownOutcome)
	require.ErrorIs(t, unknown, ErrExpired)
	assert.Contains(t, unknown.Error(), "session: set /a: outcome unknown")
	assert.Equal(t, lost(ErrExpired), lost(lost(ErrExpired)), "wrapped once")
	for code, want := range map[int32]error{
		0: nil, -8: ErrBadArguments, -101: ErrNoNode, -102: ErrNoAuth, -103: ErrBadVersion, -108: ErrNoChildrenForEphemerals,
		-110: ErrNodeExists, -111: ErrNotEmpty, -112: ErrExpired, -114: ErrInvalidACL, -115: ErrAuthFailed,
		-6: ErrUnsupported, -2: ErrNotRun, -119: ErrReadOnly, -124: ErrAuthRequired, -125: ErrQuotaExceeded, -127: ErrThrottled,
	} {
		assert.Equal(t, want, codeError(code), code)
	}
	assert.EqualError(t, codeError(-128), "server error -128")
	assert.ErrorIs(t, ErrAuthRequired, ErrAuthFailed)
	for kind, want := range map[EventType]string{
		EventCreated: "created", EventDeleted: "deleted", EventDataChanged: "data changed", EventChildrenChanged: "children changed",
		EventDisconnected: "disconnected", EventReattached: "reattached", EventSessionOver: "session over", 55: "unknown",
	} {
		assert.Equal(t, want, kind.String())
	}
	for status, want := range map[Status]string{
		Connecting: "connecting", Connected: "connected", Suspended: "suspended", Lost: "lost", Closed: "closed", 9: "unknown",
	} {
		assert.Equal(t, want, status.String())
	}
}

func TestOnlyLossesThatTheNextSessionDoesNotSharePass(t *testing.T) {
	for _, reason := range []error{ErrExpired, ErrTrustRanOut, ErrNodeDeleted} {
		assert.True(t, IsSessionLoss(fmt.Errorf("%w: %w", ErrLost, reason)), reason)
	}
	for _, err := range []error{nil, ErrNoNode, ErrExpired, fmt.Errorf("%w: %w", ErrLost, ErrClosed), fmt.Errorf("%w: %w", ErrLost, ErrAuthFailed)} {
		assert.False(t, IsSessionLoss(err), err)
	}
}

// A server that has an IPv6 address is dialed by it, below the chroot.
func TestServersHaveAddressesOfIPv6(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		_, err := w.s.Create(w.ctx, "/app", nil, Persistent, nil)
		require.NoError(w, err)
		var dialed []string
		c, err := Connect(w.ctx, "[2001:DB8::1]:2182,[2001:db8::1]:2182/app", &Options{
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dialed = append(dialed, addr)
				return w.srv.Dial(ctx, network, w.srv.Addr())
			},
		})
		require.NoError(w, err)
		s, err := c.Session(w.ctx)
		require.NoError(w, err)
		_, err = s.Create(w.ctx, "/a", nil, Persistent, nil)
		require.NoError(w, err)
		require.True(w, w.exists("/app/a"))
		require.Contains(w, c.State().Server, "]:2182")
		w.close(c)
		require.Contains(w, dialed[0], "]:2182")
	})
}
