package webconfig

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// The password of alice is secret.
const alice = "basic_auth_users:\n  alice: $2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n"

// write writes a file of settings.
func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// open opens a file with a text.
func open(t *testing.T, text string) (f *File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "web.yml")
	write(t, path, text)
	f, err := Open(path)
	require.NoError(t, err)
	return f, path
}

// ask sends a request with a user, unless the user is "", and returns the answer.
func ask(t *testing.T, h http.Handler, method, user, password string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	if user != "" || password != "" {
		r.SetBasicAuth(user, password)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// secret is a handler that tells the user a secret.
//
// read only
var secret = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "secret of "+web.User(r.Context()))
})

// TestOnlyUsersWithTheirPasswordsAreAnswered, whatever the method is.
func TestOnlyUsersWithTheirPasswordsAreAnswered(t *testing.T) {
	t.Parallel()
	f, _ := open(t, alice)
	assert.True(t, f.HasUsers())
	assert.True(t, f.Authenticates())
	h := f.Handler(secret)
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "TRACE"} {
		for _, c := range [][2]string{{"", ""}, {"alice", ""}, {"alice", "Secret"}, {"alice", "secret2"}, {"bob", "secret"}, {"", "secret"}, {"ALICE", "secret"}, {"alice:secret", ""}} {
			w := ask(t, h, method, c[0], c[1])
			assert.Equal(t, http.StatusUnauthorized, w.Code, c)
			assert.Contains(t, w.Header().Get("WWW-Authenticate"), "Basic realm=")
			assert.NotContains(t, w.Body.String(), "secret of")
		}
	}
	assert.Equal(t, "secret of alice", ask(t, h, "GET", "alice", "secret").Body.String())
	for _, header := range []string{"", "Basic", "Basic !", "Bearer YWxpY2U6c2VjcmV0", "Digest alice"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, http.StatusUnauthorized, w.Code, header)
	}
}

// TestFileThatLosesItsUsersLetsNobodyIn: an editor may truncate the file before it
// writes the file.
func TestFileThatLosesItsUsersLetsNobodyIn(t *testing.T) {
	t.Parallel()
	f, path := open(t, alice)
	h := f.Handler(secret)
	for _, text := range []string{"", "basic_auth_users: {}\n", "basic_auth_users:\n", "basic_auth", "basic_auth_users:\n  \"\": " + "$2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n", "basic_auth_users:\n  alice: secret\n"} {
		write(t, path, text)
		for _, user := range []string{"", "alice"} {
			w := ask(t, h, "GET", user, "secret")
			assert.Equal(t, http.StatusInternalServerError, w.Code, "%q", text)
			assert.NotContains(t, w.Body.String(), "secret of")
		}
	}
	require.NoError(t, os.Remove(path))
	assert.Equal(t, http.StatusInternalServerError, ask(t, h, "GET", "alice", "secret").Code)
	write(t, path, alice)
	assert.Equal(t, http.StatusOK, ask(t, h, "GET", "alice", "secret").Code)
}

// TestRemovedUserIsRefused, and streams of the user learn of it.
func TestRemovedUserIsRefused(t *testing.T) {
	t.Parallel()
	f, path := open(t, alice)
	bob := "  bob: $2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n"
	write(t, path, alice+bob)
	var valid []func() bool
	h := f.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, _ := web.IdentityOf(r.Context())
		valid = append(valid, id.Valid)
	}))
	require.Equal(t, http.StatusOK, ask(t, h, "GET", "bob", "secret").Code)
	assert.True(t, valid[0]())
	write(t, path, alice)
	assert.False(t, valid[0]())
	assert.Equal(t, http.StatusUnauthorized, ask(t, h, "GET", "bob", "secret").Code)
	write(t, path, alice+"  bob: $2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB3\n")
	assert.False(t, valid[0](), "another password")
	require.NoError(t, os.Remove(path))
	assert.False(t, valid[0](), "no file")
}

// TestFileWithoutUsersAddsHeadersAndLimits.
func TestFileWithoutUsersAddsHeadersAndLimits(t *testing.T) {
	t.Parallel()
	f, path := open(t, "http_server_config:\n  headers:\n    Content-Security-Policy: default-src *\n    Strict-Transport-Security: max-age=9\nrate_limit:\n  interval: 1h\n  burst: 2\n")
	assert.False(t, f.HasUsers())
	assert.False(t, f.Authenticates())
	assert.False(t, f.Encrypts())
	guarded := web.Guard(web.Hosts{Names: []string{"example.com"}}, f.Handler(secret))
	w := ask(t, guarded, "GET", "", "")
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "secret of ", w.Body.String())
	assert.Equal(t, "max-age=9", w.Header().Get("Strict-Transport-Security"))
	assert.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", "the page's own policy is not weakened")
	write(t, path, alice)
	assert.Equal(t, http.StatusUnauthorized, ask(t, guarded, "GET", "", "").Code, "users that are added count at once")
	assert.Equal(t, http.StatusTooManyRequests, ask(t, guarded, "GET", "alice", "secret").Code)
}

// TestNoFileHasNoSettings.
func TestNoFileHasNoSettings(t *testing.T) {
	t.Parallel()
	f, err := Open("")
	require.NoError(t, err)
	assert.False(t, f.HasUsers() || f.Encrypts() || f.Authenticates())
	assert.Equal(t, "secret of ", ask(t, f.Handler(secret), "GET", "alice", "secret").Body.String(), "an unverified name is no user")
}

func TestWrongFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"basic_auth_user:\n  a: b\n", "basic_auth_users:\n  a: b\n", "tls_server_config:\n  cert_file: missing.pem\n", "basic_auth_users:\n  \"\": " + "$2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n", "http_server_config:\n  headers:\n    X-Mine: x\n", "["} {
		path := filepath.Join(t.TempDir(), "web.yml")
		write(t, path, text)
		_, err := Open(path)
		require.Error(t, err, text)
	}
}
