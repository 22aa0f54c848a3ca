package kdctest

import (
	"fmt"
	"testing"

	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// ServerHost is the host of the principal of StartZooKeeper's server.
const ServerHost = "zk1.zk.test"

// StartZooKeeper starts a server that demands Kerberos of its clients.
func (k *KDC) StartZooKeeper(t testing.TB) *apache.Cluster {
	t.Helper()
	login := k.Write("login.conf", fmt.Sprintf(`Server {
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true useTicketCache=false isInitiator=false
  keyTab="%s" principal="zookeeper/%s@%s";
};
`, k.Keytab("zookeeper/"+ServerHost), ServerHost, Realm))
	return apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Properties: map[string]string{
		"java.security.auth.login.config": login, "java.security.krb5.conf": k.File("krb5.conf"), "java.io.tmpdir": t.TempDir(),
		"zookeeper.authProvider.1":                   "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
		"zookeeper.sessionRequireClientSASLAuth":     "true",
		"zookeeper.kerberos.removeHostFromPrincipal": "true", "zookeeper.kerberos.removeRealmFromPrincipal": "true",
		"zookeeper.enforce.auth.enabled": "true", "zookeeper.enforce.auth.schemes": "sasl",
	}})
}
