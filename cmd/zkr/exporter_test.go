//go:build unix

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
)

// exporter starts "zkr exporter", and waits for its address.
func (b *bed) exporter(args ...string) (z *zkrProcess, url string) {
	b.Helper()
	z = b.start(append([]string{"exporter", "--listen", "127.0.0.1:0"}, args...)...)
	z.says("serves metrics")
	return z, strings.TrimSuffix(strings.Fields(z.out.String())[0], "/metrics")
}

func TestExporterShowsLocksUntilItIsEnded(t *testing.T) {
	b := newBed(t)
	_, err := lock.New(b.client(), "/app/lock", nil).Lock(b.ctx)
	require.NoError(t, err)
	z, url := b.exporter("--root", "/app")
	eventually(t, func() bool {
		_, text := fetchPage(t, url+"/metrics")
		return strings.Contains(text, "\nzkr_holders{kind=\"mutex\",path=\"/app/lock\"} 1\n")
	}, "the lock is shown")
	code, text := fetchPage(t, url+"/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "\nprocess_cpu_seconds_total ")
	code, _ = fetchPage(t, url+"/healthz")
	assert.Equal(t, http.StatusOK, code)
	code, text = fetchPage(t, url+"/")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "metrics")
	z.signal(syscall.SIGTERM)
	z.ends(0)
	assert.Empty(t, z.err.String())
}

// The exporter begins before ZooKeeper does.
func TestExporterWaitsForZooKeeper(t *testing.T) {
	b := newBed(t)
	require.NoError(t, b.srv.Stop(1))
	z, url := b.exporter()
	_, text := fetchPage(t, url+"/metrics")
	assert.Contains(t, text, "\nzkr_up 0\n")
	assert.Contains(t, text, "\nzkr_view_current 0\n")
	assert.NotContains(t, text, "zkr_znodes ")
	code, _ := fetchPage(t, url+"/healthz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	require.NoError(t, b.srv.Restart(1))
	eventually(t, func() bool {
		_, text := fetchPage(t, url+"/metrics")
		return strings.Contains(text, "\nzkr_view_current 1\n")
	}, "the tree is shown")
	z.signal(syscall.SIGINT)
	z.ends(0)
}

func TestExporterAsksForAPassword(t *testing.T) {
	b := newBed(t)
	file := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(file, []byte("basic_auth_users:\n  alice: $2a$04$ZVVxE/RnLajoCS/MMFjHc.NdKyDQgScwaiq8pS6FVxnhtUiMO4bB2\n"), 0o600))
	z, url := b.exporter("--web-config", file)
	code, text := fetchPage(t, url+"/metrics")
	assert.Equal(t, http.StatusUnauthorized, code)
	assert.NotContains(t, text, "zkr_")
	code, text = fetchPage(t, strings.Replace(url, "http://", "http://alice:secret@", 1)+"/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "zkr_up")
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

// Over TLS, and compressed, as Prometheus asks for it.
func TestExporterServesTLS(t *testing.T) {
	b := newBed(t)
	_, err := lock.New(b.client(), "/locks/a", nil).Lock(b.ctx)
	require.NoError(t, err)
	cert, key, pair := certificate(t, t.TempDir())
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	_, url := b.exporter("--web-config", webFile(t, fmt.Sprintf("tls_server_config:\n  cert_file: %s\n  key_file: %s\n", cert, key)))
	require.True(t, strings.HasPrefix(url, "https://127.0.0.1:"), url)
	client := &http.Client{Timeout: limit, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "zookeeper.test"},
	}}
	eventually(t, func() bool {
		answer, err := client.Get(url + "/metrics") // the transport asks for gzip
		require.NoError(t, err)
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.True(t, answer.Uncompressed, "the answer was compressed")
		return strings.Contains(string(text), "\nzkr_holders{kind=\"mutex\",path=\"/locks/a\"} 1\n")
	}, "the lock is shown")
	code, text := fetchPage(t, strings.Replace(url, "https", "http", 1)+"/metrics")
	assert.Equal(t, http.StatusBadRequest, code, "without TLS")
	assert.NotContains(t, text, "zkr_")
}

func TestExporterRefusesWrongArguments(t *testing.T) {
	b := newBed(t)
	missing := filepath.Join(t.TempDir(), "missing.yml")
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":      "--allow-remote permits that",
		"--listen here":           "is not host:port",
		"--root app":              "begins with /",
		"--max-paths 0":           "--max-paths is 0; it must be 1 or more",
		"--web-config " + missing: "missing.yml",
		"/app":                    "one word too many",
	} {
		assert.Contains(t, b.run(append([]string{"exporter"}, strings.Fields(args)...)...).ends(exit.CodeUsage).err.String(), want, args)
	}
}
