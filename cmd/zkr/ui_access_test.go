//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
)

// aliceFile is a file for --web-config; the password of alice is secret.
const aliceFile = "basic_auth_users:\n  alice: $2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n"

// protected are addresses of the dashboard: pages, their updates, data, and files.
//
// read only
var protected = []string{
	"/", "/locks", "/tree?path=/", "/servers", "/live/", "/live/locks", "/live/tree?path=/", "/api/things", "/assets/live.js", "/nothing",
	"//locks", "/./locks", "/assets/../locks", "/%6cocks", "/live/../api/things",
}

// webFile writes a file for --web-config.
func webFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// status sends a request, and returns the status of the answer.
func status(t *testing.T, client *http.Client, method, url string, header http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	r.URL.Opaque = strings.TrimPrefix(url, "http:") // as it is, without cleaning the path
	r.Header, r.Close = header, true
	answer, err := client.Do(r)
	require.NoError(t, err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// withoutRedirects is a client that shows redirections.
func withoutRedirects() *http.Client {
	return &http.Client{
		Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// TestUIAsksForAPasswordEverywhere.
func TestUIAsksForAPasswordEverywhere(t *testing.T) {
	b := newBed(t)
	file := webFile(t, aliceFile)
	z, url := b.page("--web-config", file, "--allow-remote")
	client := withoutRedirects()
	alice := http.Header{"Authorization": {"Basic YWxpY2U6c2VjcmV0"}}
	for _, path := range protected {
		for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST"} {
			assert.Equal(t, 401, status(t, client, method, url+path, http.Header{}), "%s %s", method, path)
			assert.Equal(t, 401, status(t, client, method, url+path, http.Header{"Authorization": {"Basic YWxpY2U6c2VjcmVU"}}), "%s %s", method, path)
			assert.Equal(t, 401, status(t, client, method, url+path, http.Header{"X-Forwarded-User": {"alice"}}), "%s %s", method, path)
		}
	}
	for path, want := range map[string]int{"/": 200, "/locks": 200, "/live/locks": 200, "/api/things": 200, "/assets/live.js": 200, "/nothing": 404} {
		assert.Equal(t, want, status(t, client, "GET", url+path, alice), path)
	}
	assert.Equal(t, 405, status(t, client, "POST", url+"/locks", alice))
	z.warns("passwords are sent without encryption")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(aliceFile, "alice", "bob", 1)), 0o600))
	assert.Equal(t, 401, status(t, client, "GET", url+"/locks", alice), "a user who was removed")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Equal(t, 500, status(t, client, "GET", url+"/locks", http.Header{}), "a file without users")
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

// TestUITrustsItsProxy, and no other client.
func TestUITrustsItsProxy(t *testing.T) {
	b := newBed(t)
	client := withoutRedirects()
	ann := http.Header{"X-Forwarded-User": {"ann"}, "X-Forwarded-For": {"127.0.0.1"}}
	_, near := b.page("--trust-header", "X-Forwarded-User", "--host", "zk.example.org")
	_, far := b.page("--trust-header", "x-forwarded-user", "--trusted-proxies", "192.0.2.0/24,2001:db8::1", "--allow-remote")
	for _, path := range protected {
		assert.Equal(t, 403, status(t, client, "GET", near+path, http.Header{}), path)
		assert.Equal(t, 403, status(t, client, "GET", near+path, http.Header{"X-Forwarded-User": {""}}), path)
		assert.Equal(t, 403, status(t, client, "GET", near+path, http.Header{"X-Forwarded-User": {"ann", "eve"}}), path)
		assert.Equal(t, 403, status(t, client, "GET", far+path, ann), path)
	}
	for _, path := range []string{"/locks", "/live/locks", "/api/things"} {
		assert.Equal(t, 200, status(t, client, "GET", near+path, ann), path)
	}
}

// TestUIServesTLS: pages and streams by HTTP/2, and certificates of clients.
func TestUIServesTLS(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	cert, key, pair := certificate(t, dir)
	server := fmt.Sprintf("tls_server_config:\n  cert_file: %s\n  key_file: %s\n", cert, key)
	_, url := b.page("--web-config", webFile(t, server+aliceFile), "--allow-remote")
	require.True(t, strings.HasPrefix(url, "https://127.0.0.1:"), url)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	connect := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Timeout: limit, Transport: &http.Transport{
			DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "zookeeper.test", Certificates: certs},
		}}
	}
	get := func(client *http.Client, url string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		r.SetBasicAuth("alice", "secret")
		answer, err := client.Do(r)
		if err == nil {
			t.Cleanup(func() { _ = answer.Body.Close() })
		}
		return answer, err
	}
	answer, err := get(connect(), url+"/live/locks")
	require.NoError(t, err)
	assert.Equal(t, 2, answer.ProtoMajor)
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "retry: 1000\n", line)
	_ = answer.Body.Close()
	code, _ := fetchPage(t, strings.Replace(url, "https", "http", 1)+"/locks")
	assert.Equal(t, http.StatusBadRequest, code, "without TLS")

	// Clients with a verified certificate need no password.
	_, url = b.page("--web-config", webFile(t, server+fmt.Sprintf("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: %s\n", cert)), "--allow-remote")
	answer, err = get(connect(pair), url+"/locks") //nolint:bodyclose // closed by get
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, answer.StatusCode)
	_, err = get(connect(), url+"/locks") //nolint:bodyclose // there is none
	require.Error(t, err)
}

// TestUINeedsAuthenticationForOtherMachines, unless the operator says otherwise.
func TestUINeedsAuthenticationForOtherMachines(t *testing.T) {
	b := newBed(t)
	file := webFile(t, aliceFile)
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0 --allow-remote":             "--allow-remote without authentication",
		"--allow-remote":                                "--no-auth lets every client read",
		"--allow-remote --web-config " + webFile(t, ""): "--allow-remote without authentication",
		"--no-auth": "--no-auth needs --allow-remote",
		"--allow-remote --no-auth --trust-header X-User": "--no-auth contradicts",
		"--allow-remote --no-auth --web-config " + file:  "--no-auth contradicts",
		"--actions":                                               "--actions needs users",
		"--actions --allow-remote --no-auth":                      "--actions needs users",
		"--actions --web-config " + webFile(t, ""):                "--actions needs users",
		"--trusted-proxies 10.0.0.0/8":                            "--trusted-proxies needs --trust-header",
		"--trust-header X:User":                                   `--trust-header: "X:User" is not a name of a header`,
		"--trust-header X-User --trusted-proxies proxy":           `--trusted-proxies: "proxy" is not an address`,
		"--trust-header X-User --web-config " + file:              "exclude each other",
		"--web-config " + filepath.Join(t.TempDir(), "there.yml"): "there.yml",
		"--web-config " + webFile(t, "basic_auth_users:\n  a: b"): "--web-config: ",
	} {
		line := append([]string{"ui", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)
		assert.Contains(t, b.run(line...).ends(exit.CodeUsage).err.String(), want, args)
	}
	z, url := b.page("--allow-remote", "--no-auth")
	z.warns("any client that reaches the page can read everything")
	code, _ := fetchPage(t, url+"/locks")
	assert.Equal(t, 200, code)
}

// TestUIActsForUsers: an action is recorded in ZooKeeper and on stderr.
func TestUIActsForUsers(t *testing.T) {
	b := newBed(t)
	held, err := lock.New(b.client(), "/app/lock", &lock.Options{ID: "somebody"}).Lock(b.ctx)
	require.NoError(t, err)
	z, url := b.page("--root", "/app", "--actions", "--web-config", webFile(t, aliceFile))
	as := strings.Replace(url, "http://", "http://alice:secret@", 1)
	page, confirm := "", as+"/act?do=break&path=/app/lock"
	eventually(t, func() bool {
		var code int
		code, page = fetchPage(t, confirm)
		return code == http.StatusOK
	}, "the lock is shown")
	form := neturl.Values{"reason": {"it hangs"}}
	for _, field := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	post := func(origin string) int {
		r, err := http.NewRequestWithContext(b.ctx, http.MethodPost, as+"/act", strings.NewReader(form.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	assert.Equal(t, http.StatusForbidden, post("http://evil.example.org"))
	require.NoError(t, held.Context().Err())
	assert.Equal(t, http.StatusOK, post(url))
	<-held.Context().Done()
	by, ok, err := held.Broken(b.ctx)
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, "alice", by.By)
	z.signal(syscall.SIGTERM)
	z.ends(0)
	assert.Contains(t, z.err.String(), `result=\"failed: forms from pages of other servers are refused\"`)
	assert.Contains(t, z.err.String(), `audit: user=\"alice\" action=\"break\" path=\"/app/lock\" item=`)
	assert.Contains(t, z.err.String(), `reason=\"it hangs\" result=\"done\"`)
}
