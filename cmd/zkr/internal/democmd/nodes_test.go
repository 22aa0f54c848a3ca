//go:build unix

package democmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// TestNodesCheckTheServersCertificate, although they dial their proxies.
func TestNodesCheckTheServersCertificate(t *testing.T) {
	for _, c := range []struct {
		servers, flag string
		nodes         int
		want          string
		ok            bool
	}{
		{"zk.example:2281/a", "", 4, "zk.example", true},
		{"zk.example", "", 4, "zk.example", true},
		{"[::1]:2281", "", 4, "::1", true},
		{"zk.example:1,zk.example:2", "", 4, "zk.example", true},
		{"a:1,b:1", "", 4, "", false},
		{"a:1,b:1", "zk.example", 4, "zk.example", true},
		{"a:1,b:1", "", 0, "", true}, // nodes elsewhere dial the servers
	} {
		a := &app{App: &cli.App{Getenv: func(string) string { return "" }, Flags: cli.Globals{TLS: true, Servers: c.servers, TLSServerName: c.flag}}}
		err := (&clusterDemo{app: a, nodes: c.nodes, listen: "127.0.0.1:0"}).check(true)
		assert.Equal(t, c.ok, err == nil, "%+v: %v", c, err)
		if c.ok {
			assert.Contains(t, a.handedDown(), "ZKR_TLS_SERVER_NAME="+c.want, "%+v", c)
		}
	}
}

// TestNodesInheritCredentialsAndSession in the environment, which process lists do not
// show.
func TestNodesInheritCredentialsAndSession(t *testing.T) {
	a := &app{App: &cli.App{Getenv: func(string) string { return "" }, Flags: cli.Globals{User: "me:secret", SessionTimeout: 3 * time.Second, TLS: true, TLSCA: "ca"}}}
	env := strings.Join(a.handedDown(), "\n")
	for _, want := range []string{"ZKR_AUTH=me:secret", "ZKR_SESSION_TIMEOUT=3s", "ZKR_TLS=true", "ZKR_TLS_CA=ca", "ZKR_AUTH_FILE="} {
		assert.Contains(t, env, want)
	}
	assert.Contains(t, env, "PATH="+os.Getenv("PATH"))
}
