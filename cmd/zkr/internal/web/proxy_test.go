package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// throughProxy sends a request through p, and returns the status and the user.
func throughProxy(t *testing.T, p *Proxy, remote string, header http.Header) (code int, user string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.RemoteAddr, r.Header = remote, header
	w := httptest.NewRecorder()
	p.Authenticate(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { user = User(r.Context()) })).ServeHTTP(w, r)
	return w.Code, user
}

// TestOnlyTheProxyNamesUsers: no other address can forge the header, whatever other
// headers say of the address.
func TestOnlyTheProxyNamesUsers(t *testing.T) {
	t.Parallel()
	local, err := NewProxy("x-forwarded-USER", nil)
	require.NoError(t, err)
	remote, err := NewProxy("X-Forwarded-User", []string{"10.1.0.0/16", "192.0.2.7", "2001:db8::/32"})
	require.NoError(t, err)
	for _, c := range []struct {
		proxy *Proxy
		from  string
		want  int
	}{
		{local, "127.0.0.1:80", 200}, {local, "127.9.9.9:80", 200}, {local, "[::1]:80", 200}, {local, "[::ffff:127.0.0.1]:80", 200},
		{local, "10.1.2.3:80", 403}, {local, "[::2]:80", 403}, {local, "", 403}, {local, "@", 403}, {local, "127.0.0.1", 403}, {local, "[fe80::1%lo]:80", 403},
		{remote, "10.1.2.3:80", 200}, {remote, "192.0.2.7:80", 200}, {remote, "[2001:db8::9]:80", 200}, {remote, "[::ffff:10.1.2.3]:80", 200},
		{remote, "10.2.0.1:80", 403}, {remote, "192.0.2.8:80", 403}, {remote, "127.0.0.1:80", 403}, {remote, "[::1]:80", 403},
	} {
		code, user := throughProxy(t, c.proxy, c.from, http.Header{
			"X-Forwarded-User": {"ann"}, "X-Forwarded-For": {"127.0.0.1, 10.1.2.3"}, "X-Real-Ip": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1"},
		})
		assert.Equal(t, c.want, code, "from %s", c.from)
		assert.Equal(t, c.want == 200, user == "ann", "from %s", c.from)
	}
}

// TestProxyNamesExactlyOneUser: with two headers, one may come from the proxy's client.
func TestProxyNamesExactlyOneUser(t *testing.T) {
	t.Parallel()
	p, err := NewProxy("X-Forwarded-User", nil)
	require.NoError(t, err)
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"X-Forwarded-User": {" ann "}}, "ann"},
		{http.Header{"X-Forwarded-User": {"CN=ann,O=x"}}, "CN=ann,O=x"},
		{nil, ""},
		{http.Header{"X-Forwarded-User": {""}}, ""},
		{http.Header{"X-Forwarded-User": {" \t"}}, ""},
		{http.Header{"X-Forwarded-User": {"ann", "eve"}}, ""},
		{http.Header{"X-Forwarded-User": {"", "ann"}}, ""},
		{http.Header{"X_forwarded_user": {"ann"}}, ""},
		{http.Header{"X-Forwarded-User-Id": {"ann"}, "Authorization": {"Basic YW5uOnNlY3JldA=="}}, ""},
	} {
		code, user := throughProxy(t, p, "127.0.0.1:80", c.header)
		assert.Equal(t, c.want, user, c.header)
		assert.Equal(t, map[bool]int{true: 403, false: 200}[c.want == ""], code, c.header)
	}
}

func TestProxyRefusesWrongFlags(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "X User", "X-User:", "X\nY", "Ü"} {
		_, err := NewProxy(header, nil)
		require.Error(t, err, header)
	}
	for _, from := range []string{"", "proxy.example.org", "10.0.0.0/33", "10.0.0", "fe80::1%eth0", "::ffff:10.0.0.1", "::ffff:10.0.0.0/104"} {
		_, err := NewProxy("X-User", []string{"10.0.0.1", from})
		require.Error(t, err, from)
	}
}

// TestUserIsUnknownWithoutAuthentication.
func TestUserIsUnknownWithoutAuthentication(t *testing.T) {
	t.Parallel()
	assert.Empty(t, User(t.Context()))
	assert.True(t, isStillValid(t.Context()))
	r := WithIdentity(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), Identity{User: "ann"})
	assert.True(t, isStillValid(r.Context()))
}

// TestStreamEndsWhenItsUserIsNotAcceptedAnyMore: at the next message that shows that
// the server is alive.
func TestStreamEndsWhenItsUserIsNotAcceptedAnyMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := NewProxy("X-User", nil)
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live", nil)
		r.RemoteAddr = "127.0.0.1:80"
		r.Header.Set("X-User", "ann")
		begin := time.Now()
		p.Authenticate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			Stream(w, r, &Hub{}, "", func() ([]Region, error) { return nil, nil })
		})).ServeHTTP(httptest.NewRecorder(), r)
		assert.Equal(t, streamAge, time.Since(begin).Truncate(time.Second))
	})
}
