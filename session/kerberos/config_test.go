package kerberos

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// folder writes files into a new folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// The configuration of distributions: includes before and within sections, sections that
// occur twice, and defaults of one realm.
func TestConfigurationOfSeveralFilesIsRead(t *testing.T) {
	dir := folder(t, map[string]string{
		"d/freeipa.conf": "[domain_realm]\n.a.test = A.TEST\n[libdefaults]\nclockskew = 7\n",
		"d/.hidden.conf": "[libdefaults]\nclockskew = 9\n",
		"d/backup~":      "[libdefaults]\nclockskew = 10\n",
		"d/plain":        "[realms]\nB.TEST = {\n kdc = b.test\n}\n",
		"extra":          "[domain_realm]\nb.test = B.TEST\n",
	})
	main := filepath.Join(dir, "krb5.conf")
	require.NoError(t, os.WriteFile(main, []byte("includedir "+dir+"/d\nincludedir "+dir+`/missing
[logging]
 default = FILE:/dev/null
[libdefaults]
 default_realm = A.TEST # the first
 A.TEST = {
   ticket_lifetime = 1h
 }
 ticket_lifetime = 2h
[realms]
 A.TEST = {
  kdc = a1.test:1088
  kdc = a2.test
 }
include `+dir+"/extra\n"), 0o600))
	cfg, err := loadConfig([]string{filepath.Join(dir, "nowhere"), main})
	require.NoError(t, err)
	require.Equal(t, "A.TEST", cfg.LibDefaults.DefaultRealm)
	require.Equal(t, 2*time.Hour, cfg.LibDefaults.TicketLifetime)
	require.Equal(t, 7*time.Second, cfg.LibDefaults.Clockskew)
	require.True(t, cfg.LibDefaults.DNSLookupKDC, "the default of MIT Kerberos")
	require.Equal(t, "A.TEST", cfg.ResolveRealm("zk.a.test"))
	require.Equal(t, "B.TEST", cfg.ResolveRealm("b.test"))

	l := &Login{kdcs: map[string]place{}}
	kdcs, err := l.findKDCs(t.Context(), cfg, "A.TEST")
	require.NoError(t, err)
	require.Equal(t, []place{{"tcp", "a1.test:1088"}, {"tcp", "a2.test:88"}, {"udp", "a1.test:1088"}, {"udp", "a2.test:88"}}, kdcs)
	l.preferKDC("A.TEST", place{"udp", "a2.test:88"})
	kdcs, err = l.findKDCs(t.Context(), cfg, "A.TEST")
	require.NoError(t, err)
	require.Equal(t, []place{{"udp", "a2.test:88"}, {"tcp", "a1.test:1088"}, {"tcp", "a2.test:88"}, {"udp", "a1.test:1088"}}, kdcs)
	kdcs, err = l.findKDCs(t.Context(), cfg, "B.TEST")
	require.NoError(t, err)
	require.Len(t, kdcs, 2)
	cfg.LibDefaults.DNSLookupKDC = false
	_, err = l.findKDCs(t.Context(), cfg, "C.TEST")
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "realm C.TEST has no KDC")
}

func TestInvalidConfigurationIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"a value without a key":          "[libdefaults]\nnonsense\n",
		"a brace without a realm":        "[realms]\n}\n",
		"a line that gokrb5 panics over": "[realms]\nA = {\n b = {\n }\n }\n}\n",
		"a circle":                       "include %s\n",
	} {
		dir := folder(t, map[string]string{"krb5.conf": text})
		path := filepath.Join(dir, "krb5.conf")
		if name == "a circle" {
			require.NoError(t, os.WriteFile(path, []byte("include "+path+"\n"), 0o600))
		}
		_, err := loadConfig([]string{path})
		require.ErrorIs(t, err, ErrConfig, name)
		require.ErrorContains(t, err, path, name)
	}
}

func TestConfigurationIsFoundInTheEnvironment(t *testing.T) {
	t.Setenv("KRB5_CONFIG", "/a:/b")
	require.Equal(t, []string{"/a", "/b"}, (&Options{}).configFiles())
	require.Equal(t, []string{"/c"}, (&Options{ConfigFile: "/c"}).configFiles())
	t.Setenv("KRB5_CONFIG", "")
	require.Equal(t, []string{"/etc/krb5.conf"}, (&Options{}).configFiles())
}
