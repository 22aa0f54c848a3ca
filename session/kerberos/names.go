package kerberos

import (
	"context"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/types"
)

// dns is what a Login asks the DNS; a net.Resolver.
type dns interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// serverPrincipal is the principal of a server in the list of servers. Its realm is empty if
// the configuration does not tell it.
func (l *Login) serverPrincipal(ctx context.Context, cfg *config.Config, host string) principal {
	name, realm, _ := strings.Cut(l.options.ServerPrincipal, "@")
	if strings.Contains(name, hostPlaceholder) {
		if !l.options.KeepHostNames {
			host = l.canonicalName(ctx, host)
		}
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		name = strings.ReplaceAll(name, hostPlaceholder, host)
	}
	p := types.NewPrincipalName(nametype.KRB_NT_SRV_HST, name)
	if realm == "" {
		realm = cfg.ResolveRealm(p.NameString[len(p.NameString)-1])
	}
	return principal{p, realm}
}

// canonicalName is the name of the address of a host, if the name has that address, too; else
// host. Java's getCanonicalHostName does the same.
func (l *Login) canonicalName(ctx context.Context, host string) string {
	ctx, cancel := limit(ctx, 4)
	defer cancel()
	addresses, err := l.dns.LookupHost(ctx, host)
	if err != nil {
		return host
	}
	for _, address := range addresses {
		names, _ := l.dns.LookupAddr(ctx, address) // the next address may have a name
		for _, name := range names {
			back, _ := l.dns.LookupHost(ctx, name) // a name without addresses is not canonical
			if slices.Contains(back, address) {
				return name
			}
		}
	}
	return host
}
