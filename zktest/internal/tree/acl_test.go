package tree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func oneEntry(perms int32, scheme, id string) []proto.ACL {
	return []proto.ACL{{Perms: perms, Scheme: scheme, ID: id}}
}

func TestListsThatZooKeeperRefuses(t *testing.T) {
	me := []proto.ID{{Scheme: "ip", ID: "127.0.0.1"}}
	for _, c := range []struct {
		acl []proto.ACL
		ok  bool
	}{
		{nil, false},
		{oneEntry(31, "world", "anyone"), true},
		{oneEntry(0, "world", "anyone"), true},
		{oneEntry(31, "world", "me"), false},
		{oneEntry(31, "auth", ""), false},
		{oneEntry(31, "digest", "user:hash"), true},
		{oneEntry(31, "digest", "nocolon"), false},
		{oneEntry(31, "digest", "a:b:c"), false},
		{oneEntry(31, "ip", "10.0.0.1"), true},
		{oneEntry(31, "ip", "10.0.0.0/8"), true},
		{oneEntry(31, "ip", "10.0.0.0/33"), false},
		{oneEntry(31, "ip", "300.0.0.1"), false},
		{oneEntry(31, "ip", "::1"), false},
		{oneEntry(31, "ip", "::1/64"), false},
		{oneEntry(31, "x509", "cn"), false},
		{append(oneEntry(31, "world", "anyone"), oneEntry(31, "auth", "")...), false},
	} {
		_, ok := fixACL(c.acl, &Caller{IDs: me})
		require.Equal(t, c.ok, ok, "%+v", c.acl)
	}
}

func TestAuthStandsForEveryIdentityOfTheConnection(t *testing.T) {
	ids := []proto.ID{{Scheme: "ip", ID: "127.0.0.1"}, {Scheme: "digest", ID: "a:1"}, {Scheme: "digest", ID: "b:2"}}
	got, ok := fixACL(append(oneEntry(31, "auth", ""), oneEntry(31, "digest", "a:1")...), &Caller{IDs: ids})
	require.True(t, ok)
	require.Equal(t, append(oneEntry(31, "digest", "a:1"), oneEntry(31, "digest", "b:2")...), got, "without duplicates")
}

func TestPermissionsOfCallers(t *testing.T) {
	alice := []proto.ID{{Scheme: "ip", ID: "10.1.2.3"}, {Scheme: "digest", ID: "alice:h"}}
	super := []proto.ID{{Scheme: "super", ID: ""}}
	for _, c := range []struct {
		acl  []proto.ACL
		perm int32
		ids  []proto.ID
		ok   bool
	}{
		{nil, proto.PermWrite, nil, true},
		{oneEntry(proto.PermRead, "world", "anyone"), proto.PermRead, nil, true},
		{oneEntry(proto.PermRead, "world", "anyone"), proto.PermWrite, alice, false},
		{oneEntry(proto.PermRead, "world", "anyone"), proto.PermWrite, super, true},
		{oneEntry(31, "digest", "alice:h"), proto.PermAdmin, alice, true},
		{oneEntry(31, "digest", "alice:g"), proto.PermAdmin, alice, false},
		{oneEntry(31, "digest", "alice:h"), proto.PermAdmin, alice[:1], false},
		{oneEntry(31, "ip", "10.1.2.3"), proto.PermDelete, alice, true},
		{oneEntry(31, "ip", "10.1.0.0/16"), proto.PermDelete, alice, true},
		{oneEntry(31, "ip", "10.2.0.0/16"), proto.PermDelete, alice, false},
		{oneEntry(31, "ip", "10.1.2.3"), proto.PermDelete, []proto.ID{{Scheme: "ip", ID: "not an address"}}, false},
		{append(oneEntry(proto.PermRead, "world", "anyone"), oneEntry(proto.PermWrite, "digest", "alice:h")...), proto.PermWrite, alice, true},
	} {
		require.Equal(t, c.ok, Allowed(c.acl, c.perm, c.ids), "%+v", c)
	}
}

func TestDigestIsWhatApacheComputes(t *testing.T) {
	// As DigestAuthenticationProvider.generateDigest, and zkCli's whoami, say.
	require.Equal(t, "u:Jq7wMyA/w2Vd5WIDAKdu4OIIFEQ=", Digest("u:p"))
	require.Regexp(t, `^nocolon:.+=$`, Digest("nocolon"))
}

func TestChecksAndChangesNeedTheirPermission(t *testing.T) {
	w := newWorld()
	none := oneEntry(0, "world", "anyone")
	_, _, code := w.applyRequest(&Caller{}, &proto.Request{Op: proto.OpCreate, Path: "/n", ACL: none})
	require.Equal(t, proto.OK, code)
	for _, q := range []proto.Request{
		{Op: proto.OpCheck, Path: "/n", Version: -1},
		{Op: proto.OpSetData, Path: "/n", Version: -1},
		{Op: proto.OpSetACL, Path: "/n", Version: -1},
		{Op: proto.OpCreate, Path: "/n/x"},
		{Op: proto.OpDelete, Path: "/n/x", Version: -1},
	} {
		_, _, code := w.applyRequest(&Caller{}, &q)
		require.Equal(t, proto.NoAuth, code, q.Op.String())
	}
	require.Equal(t, proto.OK, w.deleteNode("/n", -1), "deleting is a right on the parent")
}

func TestPathsThatZooKeeperRefuses(t *testing.T) {
	for p, ok := range map[string]bool{
		"/": true, "/a": true, "/a/b": true, "/...": true, "/a.b": true, "/é": true, "/ ": true,
		"": false, "a": false, "/a/": false, "//": false, "/a//b": false, "/.": false, "/a/..": false, "/./a": false,
		"/\x00": false, "/\x1f": false, "/\x7f": false, "/\u0085": false, "/\ue000": false, "/\uffff": false, "/\U0001F600": false, "/\xff": false,
	} {
		require.Equal(t, ok, ValidPath(p), "%q", p)
	}
	for p, want := range map[string]string{"/a": "", "/a/b": "/a", "/": ""} {
		got, ok := Parent(p)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := Parent("a")
	require.False(t, ok)
}
