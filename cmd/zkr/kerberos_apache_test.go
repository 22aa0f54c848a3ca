//go:build unix

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/internal/kdctest"
)

// The commands of the page about connecting log in with the ticket of kinit, and with a keytab. A
// wrong key and an absent KDC have exit codes of their own.
func TestKerberosCommandsRunOnApache(t *testing.T) {
	t.Parallel()
	k := kdctest.New(t, time.Hour)
	servers := k.StartZooKeeper(t).Connect()
	const client = "app/host.example.org"
	keytab := k.Keytab(client)
	ticket := "KRB5CCNAME=FILE:" + k.File("ticket")
	k.Env = append(k.Env, ticket)
	k.Run("kinit", "-k", "-t", keytab, client)
	run := func(line string) *zkrProcess {
		t.Helper()
		args := strings.Fields(strings.ReplaceAll(line, "/etc/security/app.keytab", keytab))
		require.Equal(t, "zkr", args[0])
		cmd := command(servers, args[1:]...)
		cmd.Env = append(cmd.Env, "KRB5_CONFIG="+k.File("krb5.conf"), ticket, "ZKR_KERBEROS_SERVER=zookeeper/"+kdctest.ServerHost)
		z := start(t, cmd)
		z.wait()
		return z
	}
	var lines []string
	for _, line := range commandsOf(t, "connecting") {
		if strings.Contains(line, schemeOfKerberos) {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 2)
	for _, line := range lines {
		z := run(line)
		require.Equal(t, 0, z.code, "%s\n%s%s", line, z.out, z.err)
		require.Contains(t, z.out.String(), "zookeeper", line)
	}

	k.Admin("cpw -randkey %s", client)
	z := run(lines[1])
	assert.Equal(t, exit.CodeDenied, z.code, "%s", z.err)
	assert.Contains(t, z.err.String(), client)
	k.Stop()
	z = run(lines[1])
	assert.Equal(t, exit.CodeUnavailable, z.code, "%s", z.err)
	assert.Contains(t, z.err.String(), k.Address)
}
