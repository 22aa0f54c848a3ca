package kerberos

import (
	"testing"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/stretchr/testify/require"
)

// The principal of a server is the one that Java's client would use.
func TestPrincipalOfAServerIsThatOfTheJavaClient(t *testing.T) {
	cfg := config.New()
	cfg.DomainRealm[".other.test"] = "OTHER.TEST"
	dns := names{
		"alias.test": {"192.0.2.1"}, "zk1.zk.test": {"192.0.2.1"}, "192.0.2.1": {"ZK1.zk.test."},
		"192.0.2.2": {"gone.zk.test."}, // a name without that address
		"two.test":  {"192.0.2.9", "192.0.2.1"},
	}
	dns["ZK1.zk.test"] = dns["zk1.zk.test"]
	for _, c := range []struct{ option, host, want string }{
		{"", "alias.test", "zookeeper/zk1.zk.test@"},
		{"", "zk1.zk.test", "zookeeper/zk1.zk.test@"},
		{"", "192.0.2.2", "zookeeper/192.0.2.2@"},
		{"", "unknown.test", "zookeeper/unknown.test@"},
		{"", "zk.other.test", "zookeeper/zk.other.test@OTHER.TEST"},
		{"", "two.test", "zookeeper/zk1.zk.test@"},
		{"zk/_HOST@A.TEST", "alias.test", "zk/zk1.zk.test@A.TEST"},
		{"zookeeper/fixed.test", "alias.test", "zookeeper/fixed.test@"},
	} {
		options, err := (&Options{ServerPrincipal: c.option}).withDefaults()
		require.NoError(t, err)
		l := &Login{options: options, dns: dns}
		require.Equal(t, c.want, l.serverPrincipal(t.Context(), cfg, c.host).String(), c.host)
	}
	kept := &Login{options: Options{ServerPrincipal: "zookeeper/_HOST", KeepHostNames: true}, dns: dns}
	require.Equal(t, "zookeeper/alias.test@", kept.serverPrincipal(t.Context(), cfg, "Alias.test").String())
}

func TestServerPrincipalOptionIsChecked(t *testing.T) {
	for _, bad := range []string{"zookeeper", "/host", "zookeeper/", "zookeeper/host@", "@REALM", "zookeeper/host@A@B"} {
		_, err := (&Options{ServerPrincipal: bad}).withDefaults()
		require.ErrorIs(t, err, ErrInvalidArgument, bad)
	}
}

func TestCredentialCacheIsFoundAsKinitFindsIt(t *testing.T) {
	t.Setenv("KRB5CCNAME", "FILE:/run/cc")
	for name, want := range map[string]string{"": "/run/cc", "/x": "/x", "FILE:/y": "/y"} {
		got, err := cacheFile(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	t.Setenv("KRB5CCNAME", "")
	got, err := cacheFile("")
	require.NoError(t, err)
	require.Regexp(t, `^/tmp/krb5cc_\d+$`, got)
	t.Setenv("KRB5CCNAME", "KCM:")
	_, err = cacheFile("")
	require.ErrorIs(t, err, ErrInvalidArgument)
}
