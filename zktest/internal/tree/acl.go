package tree

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// Digest returns the identity for "user:password" in scheme digest.
func Digest(credentials string) string {
	user, _, _ := strings.Cut(credentials, ":")
	sum := sha1.Sum([]byte(credentials))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// Allowed tells whether one of ids has all of perm. An empty list allows
// everything.
func Allowed(acls []proto.ACL, perm int32, ids []proto.ID) bool {
	if len(acls) == 0 {
		return true
	}
	for _, id := range ids {
		if id.Scheme == "super" {
			return true
		}
	}
	for _, a := range acls {
		if a.Perms&perm == 0 {
			continue
		}
		if a.Scheme == "world" && a.ID == "anyone" {
			return true
		}
		for _, id := range ids {
			if id.Scheme == a.Scheme && aclMatches(a.Scheme, id.ID, a.ID) {
				return true
			}
		}
	}
	return false
}

func aclMatches(scheme, id, expr string) bool {
	if scheme != "ip" {
		return id == expr
	}
	addr, err := netip.ParseAddr(id)
	if err != nil {
		return false
	}
	prefix, ok := parsePrefix(expr)
	return ok && prefix.Contains(addr.Unmap())
}

func parsePrefix(expr string) (netip.Prefix, bool) {
	// 3.8 knows IPv4 only here.
	if p, err := netip.ParsePrefix(expr); err == nil {
		return p, p.Addr().Is4()
	}
	a, err := netip.ParseAddr(expr)
	if err != nil || !a.Is4() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

// fixACL replaces "auth" entries by the connection's own identities and drops
// duplicates; false if ZooKeeper refuses the list.
func fixACL(acls []proto.ACL, caller *Caller) ([]proto.ACL, bool) {
	var out []proto.ACL
	seen := map[proto.ACL]bool{}
	add := func(a proto.ACL) {
		if !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, a := range acls {
		switch a.Scheme {
		case "world":
			if a.ID != "anyone" {
				return nil, false
			}
			add(a)
		case "auth":
			found := false
			for _, id := range caller.IDs {
				if id.Scheme == "digest" || id.Scheme == "super" || id.Scheme == "sasl" {
					found = true
					add(proto.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
				}
			}
			if !found {
				return nil, false
			}
		case "digest":
			if len(strings.Split(a.ID, ":")) != 2 {
				return nil, false
			}
			add(a)
		case "sasl":
			if !caller.SASL || a.ID == "" {
				return nil, false
			}
			add(a)
		case "ip":
			if _, ok := parsePrefix(a.ID); !ok {
				return nil, false
			}
			add(a)
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// MaskACL hides the hashes of digest entries from clients without the admin
// permission.
func MaskACL(acls []proto.ACL, ids []proto.ID) []proto.ACL {
	if Allowed(acls, proto.PermAdmin, ids) {
		return acls
	}
	out := make([]proto.ACL, len(acls))
	for i, a := range acls {
		if a.Scheme == "digest" {
			user, _, _ := strings.Cut(a.ID, ":")
			a.ID = user + ":x"
		}
		out[i] = a
	}
	return out
}
