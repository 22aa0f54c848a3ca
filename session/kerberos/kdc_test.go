package kerberos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/kdctest"
)

const testRealm = kdctest.Realm

// kdc is a KDC with the logins of its principals.
type kdc struct{ *kdctest.KDC }

func newKDC(t testing.TB, life time.Duration) *kdc {
	t.Helper()
	return &kdc{kdctest.New(t, life)}
}

// options are those of a Login with the KDC.
func (k *kdc) options() *Options { return &Options{ConfigFile: k.File("krb5.conf")} }

// login is a Login by a new key of a principal.
func (k *kdc) login(name string) *Login {
	k.Helper()
	l, err := Keytab(name, k.Keytab(name), k.options())
	require.NoError(k, err)
	l.dns = testNames()
	return l
}

// The names of the server of startZooKeeper: that in the list of servers, and the one that its
// address has.
const (
	listedName    = "zookeeper.test"
	canonicalName = kdctest.ServerHost
	someAddress   = "192.0.2.1"
)

// names is a DNS.
type names map[string][]string

func (n names) LookupHost(_ context.Context, host string) ([]string, error) {
	host = strings.TrimSuffix(host, ".")
	if n[host] == nil {
		return nil, errors.New("no such host")
	}
	return n[host], nil
}

func (n names) LookupAddr(ctx context.Context, address string) ([]string, error) {
	return n.LookupHost(ctx, address)
}

func testNames() names {
	return names{listedName: {someAddress}, canonicalName: {someAddress}, someAddress: {canonicalName + "."}}
}

// startZooKeeper starts a server that demands Kerberos of its clients.
func (k *kdc) startZooKeeper(t testing.TB) *cable {
	t.Helper()
	return &cable{address: k.StartZooKeeper(t).Connect()}
}
