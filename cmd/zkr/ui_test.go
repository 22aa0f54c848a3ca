//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// page starts "zkr ui", and waits for the address of the page.
func (b *bed) page(args ...string) (z *zkrProcess, url string) {
	b.Helper()
	z = b.start(append([]string{"ui", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
	z.says("\n")
	var got struct {
		URL string `json:"url"`
		PID int    `json:"pid"`
	}
	require.NoError(b, json.Unmarshal([]byte(z.out.String()), &got))
	assert.Equal(b, z.cmd.Process.Pid, got.PID)
	return z, strings.TrimSuffix(got.URL, "/")
}

// fetchPage asks for a page.
func fetchPage(t *testing.T, url string) (code int, text string) {
	t.Helper()
	client := &http.Client{Timeout: limit, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode, string(body)
}

func TestUIShowsWhatIsThereUntilItIsEnded(t *testing.T) {
	b := newBed(t)
	b.plant("/app", "/app/config x")
	held, err := lock.New(b.client(), "/app/lock", &lock.Options{ID: "somebody"}).Lock(b.ctx)
	require.NoError(t, err)
	z, url := b.page("--root", "/app")
	eventually(t, func() bool {
		_, text := fetchPage(t, url+"/locks")
		return strings.Contains(text, "somebody")
	}, "the lock is shown")
	require.NoError(t, held.Unlock(b.ctx))
	eventually(t, func() bool {
		_, text := fetchPage(t, url+"/api/things")
		return !strings.Contains(text, "somebody")
	}, "it is free")
	code, text := fetchPage(t, url+"/tree")
	assert.Equal(t, 200, code)
	assert.Contains(t, text, "config")
	before := b.srv.Dump()
	// A reader of changes does not keep zkr from ending.
	stream, err := http.Get(url + "/live/locks") //nolint:noctx // ends with the server
	require.NoError(t, err)
	defer func() { _ = stream.Body.Close() }()
	r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url+"/api/things", nil)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Close = true
	refused, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	_ = refused.Body.Close()
	assert.Equal(t, http.StatusForbidden, refused.StatusCode, "a page from elsewhere")
	z.signal(syscall.SIGINT)
	z.ends(0)
	assert.Empty(t, z.err.String())
	assert.Equal(t, before, b.srv.Dump(), "it has written nothing")
	eventually(t, func() bool { return len(b.srv.Sessions()) == 1 }, "its session is closed")
}

// TestHelpOfUINamesTheFieldsOfTheAPI.
func TestHelpOfUINamesTheFieldsOfTheAPI(t *testing.T) {
	golden, err := os.ReadFile("internal/ui/testdata/api.golden")
	require.NoError(t, err)
	help := helpOf(t, "ui", "--help")
	for line := range strings.Lines(string(golden)) {
		path := strings.Fields(line)[0]
		names := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
		if len(names) > 1 && names[0] == "things" {
			names = names[1:]
		}
		if len(names) == 1 && names[0] != "object" {
			assert.Regexp(t, `\b`+names[0]+`\b`, help)
		}
	}
}

func TestUISaysWhereItIs(t *testing.T) {
	b := newBed(t)
	z := b.start("ui", "--listen", "127.0.0.1:0")
	z.says("http://127.0.0.1:")
	z.says("changes nothing")
	_, port, _ := strings.Cut(strings.Fields(z.out.String())[0], "127.0.0.1:")
	taken := b.run("ui", "--listen", "127.0.0.1:"+strings.TrimSuffix(port, "/")).ends(exit.CodeFailed)
	assert.Contains(t, taken.err.String(), "address already in use")
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

// TestUIListensToThisMachineOnly without --allow-remote, and answers only to
// given names.
func TestUIListensToThisMachineOnly(t *testing.T) {
	b := newBed(t)
	z := b.run("ui", "--listen", "0.0.0.0:0").ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), `others can reach "0.0.0.0:0"`)
	assert.Contains(t, z.err.String(), "--allow-remote permits that")
	for args, want := range map[string]string{
		"--listen here":         "is not host:port",
		"--listen 127.0.0.1:x":  "the port must be a number",
		"--root app":            "begins with /",
		"--host a.example.org":  "--host needs --allow-remote or --trust-header",
		"/app":                  "one word too many",
		"--listen 10.0.0.1:80 ": "others can reach",
	} {
		assert.Contains(t, b.run(append([]string{"ui"}, strings.Fields(args)...)...).ends(exit.CodeUsage).err.String(), want, args)
	}
	_, url := b.page("--allow-remote", "--no-auth", "--host", "zk.example.org")
	for host, want := range map[string]int{"zk.example.org": 200, "10.1.2.3:80": 200, "evil.example.org": 421} {
		r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, url+"/locks", nil)
		require.NoError(t, err)
		r.Host, r.Close = host, true
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		assert.Equal(t, want, answer.StatusCode, host)
	}
}

func TestUIEndsIfItMayNotReadTheTree(t *testing.T) {
	b := newBed(t)
	b.plant("/a")
	owner, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{
		Timeout: longest, ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "a")},
	})
	require.NoError(t, err)
	defer func() { _ = owner.Close(b.ctx) }()
	s, err := owner.Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/a/secret", nil, session.Persistent, nil)
	require.NoError(t, err)
	z := b.run("ui", "--listen", "127.0.0.1:0", "--root", "/a/secret").ends(exit.CodeDenied)
	assert.Contains(t, z.err.String(), "/a/secret")
	z, url := b.page("--user", "ann:a", "--root", "/a/secret")
	eventually(t, func() bool {
		code, text := fetchPage(t, url+"/api/things")
		return code == 200 && strings.Contains(text, `"loaded": true`)
	}, "with credentials it is shown")
	z.signal(syscall.SIGINT)
	z.ends(0)
}

func uiOnApache(r *real) {
	z := r.start("ui", "--listen", "127.0.0.1:0", "--root", "/ui")
	z.says("http://")
	url := strings.Fields(z.out.String())[0]
	shows := func(page, what string, there bool) {
		r.Helper()
		eventually(r.T, func() bool {
			_, text := fetchPage(r.T, url+page)
			return strings.Contains(text, what) == there
		}, "%s shows %q: %t", page, what, there)
	}
	shows("", "There is nothing at", true)
	l := r.start("lock", "/ui/lock", "--id", "somebody", "--", "sleep", "1000")
	shows("locks", "held by somebody", true)
	shows("sessions", "holds", true)
	shows("tree?path=/ui/lock", "anyone", true) // its access list
	l.signal(syscall.SIGTERM)
	l.wait()
	shows("api/things", "somebody", false)
	z.signal(syscall.SIGINT)
	z.ends(0)
}
