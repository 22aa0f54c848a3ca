package kerberos

import (
	"cmp"
	"fmt"
	"os"
	"strings"
)

// hostPlaceholder stands for the server's name in Options.ServerPrincipal.
const hostPlaceholder = "_HOST"

// Options of a [Login]. nil and the zero value mean all defaults.
type Options struct {
	// ConfigFile is the path of krb5.conf; default: $KRB5_CONFIG, which may name several
	// files, or /etc/krb5.conf. Files are read again for each connection.
	ConfigFile string
	// ServerPrincipal is the principal of the ZooKeeper servers; default:
	// "zookeeper/_HOST". _HOST stands for the name of the server of the connection. Without
	// a realm ("zookeeper/_HOST@EXAMPLE.ORG"), the realm is that of the server's domain in
	// the section domain_realm, or else the client's. The option replaces
	// zookeeper.sasl.client.username, zookeeper.server.principal and zookeeper.server.realm
	// of the Java client.
	ServerPrincipal string
	// KeepHostNames uses a server's name as it stands in the list of servers. Default: as
	// the Java client does, the canonical name that the server's address has in the DNS, or
	// the name in the list if the address has none. Set the option where the DNS gives
	// addresses other names than the servers' principals have, as in Kubernetes. The option
	// is zookeeper.sasl.client.canonicalize.hostname=false of the Java client.
	KeepHostNames bool
}

// withDefaults checks o and fills in the defaults.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.ServerPrincipal = cmp.Or(out.ServerPrincipal, "zookeeper/"+hostPlaceholder)
	name, realm, hasRealm := strings.Cut(out.ServerPrincipal, "@")
	service, host, hasHost := strings.Cut(name, "/")
	if service == "" || !hasHost || host == "" || hasRealm && realm == "" || strings.ContainsAny(realm, "@/") {
		return out, fmt.Errorf(`%w: ServerPrincipal is %q; it must be like "zookeeper/_HOST" or "zookeeper/zk.example.org@EXAMPLE.ORG"`,
			ErrInvalidArgument, out.ServerPrincipal)
	}
	return out, nil
}

// configFiles are the paths of krb5.conf, of which at least one must exist.
func (o *Options) configFiles() []string {
	if o.ConfigFile != "" {
		return []string{o.ConfigFile}
	}
	if list := os.Getenv("KRB5_CONFIG"); list != "" {
		return strings.Split(list, string(os.PathListSeparator))
	}
	return []string{"/etc/krb5.conf"}
}
