package ui

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestFiltersAreBounded(t *testing.T) {
	for filter, want := range map[string]string{
		"": "", "checkout": "", "a b c d e f g h": "", strings.Repeat("x", 200): "", strings.Repeat(" ", 200): "",
		"a b c d e f g h i":      "too many words",
		strings.Repeat("x", 201): "too long", strings.Repeat("ä", 101): "too long",
	} {
		if want == "" {
			assert.Empty(t, explainRefusal(filter), filter)
		}
		assert.Contains(t, explainRefusal(filter), want, filter)
	}
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcä": "abc", "ääää": "ää", "abc\xff": "abc", "abcd\xff": "abcd"} {
		assert.Equal(t, want, cutBeginning(text, 4), "%q", text)
		assert.True(t, utf8.ValidString(cutBeginning(text, 4)))
	}
}

// TestAccessListsNameUsersWithoutTheirHashes, which are as good as passwords.
func TestAccessListsNameUsersWithoutTheirHashes(t *testing.T) {
	list := func(a ...session.ACL) []right { return describeRights(a) }
	acl := func(perms int32, scheme, id string) session.ACL {
		return session.ACL{Perms: perms, Scheme: scheme, ID: id}
	}
	assert.Equal(t, []right{
		{Who: "anyone", May: "everything", Open: true},
		{Who: "anyone", May: "read"},
		{Who: "digest:ann", May: "read, write"},
		{Who: "ip:2001:db8::/32", May: "everything"},
		{Who: "sasl:zk/host@EXAMPLE.ORG", May: "admin"},
		{Who: "x509:CN=ann,O=x:y", May: "create, delete"},
		{Who: "secret-of-ours:bob", May: ""},
	}, list(
		acl(31, "world", "anyone"), acl(1, "world", "anyone"), acl(3, "digest", "ann:Yd3Vn2M4UzZGyB1Zl6lCzmb4hK0="), acl(31, "ip", "2001:db8::/32"),
		acl(16, "sasl", "zk/host@EXAMPLE.ORG"), acl(12, "x509", "CN=ann,O=x:y"), acl(0, "secret-of-ours", "bob:password"),
	))
}

// TestAccessListsAreAskedForAgain when the znode has changed, or after a
// failure, but not all the time.
func TestAccessListsAreAskedForAgain(t *testing.T) {
	now := time.Now()
	stat := session.Stat{Czxid: 5, Mzxid: 7}
	n := recognize.NewNode("/n", nil, stat)
	assert.True(t, access{}.needsRefresh(n, now), "they never were")
	assert.False(t, access{at: now.Add(-time.Hour), of: stat}.needsRefresh(n, now))
	assert.True(t, access{at: now, of: session.Stat{Czxid: 5, Mzxid: 6}}.needsRefresh(n, now), "the znode was written")
	assert.True(t, access{at: now, of: session.Stat{Czxid: 5, Mzxid: 7, Aversion: 1}}.needsRefresh(n, now))
	failed := access{at: now, of: stat, err: errors.New("no connection")}
	assert.False(t, failed.needsRefresh(n, now))
	assert.True(t, failed.needsRefresh(n, now.Add(2*askLimit)))
}
