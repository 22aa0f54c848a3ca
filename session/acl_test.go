package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestACLsAreReadAsZooKeepersCommandLineWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]session.ACL{
		"auth::cdrwa":    session.CreatorACL(),
		"world:anyone:r": session.WorldACL(session.PermRead),
		"sasl:app:cdrwa,world:anyone:r": {
			{Perms: session.PermAll, Scheme: "sasl", ID: "app"}, {Perms: session.PermRead, Scheme: "world", ID: "anyone"},
		},
		"x509:CN=app,OU=a:b,O=Example:cd,ip:10.0.0.0/8:r": {
			{Perms: session.PermCreate | session.PermDelete, Scheme: "x509", ID: "CN=app,OU=a:b,O=Example"},
			{Perms: session.PermRead, Scheme: "ip", ID: "10.0.0.0/8"},
		},
		"digest:ann:yK+SWqcOjCdtcLyNN3VHhVvTrCk=:rwa": {
			{Perms: session.PermRead | session.PermWrite | session.PermAdmin, Scheme: "digest", ID: "ann:yK+SWqcOjCdtcLyNN3VHhVvTrCk="},
		},
	} {
		got, err := session.ParseACL(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
}

func TestWrongACLsAreRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                           "SCHEME:ID:PERMISSIONS",
		"creator":                    `"creator"`,
		"world:anyone":               `"world:anyone"`,
		"world:anyone:":              `"world:anyone:"`,
		"world:anyone:rx":            "letters of cdrwa",
		"world:all:r":                "in the scheme world it is anyone",
		"auth:ann:r":                 "in the scheme auth it is empty",
		"sasl:app:r,":                `missing at ""`,
		"sasl:app:cdrwa,nobody":      `missing at "nobody"`,
		"sasl:app:cdrwa,,ip:1.1.1.1": `missing at`,
	} {
		_, err := session.ParseACL(text)
		require.ErrorIs(t, err, session.ErrInvalidOption, text)
		assert.ErrorContains(t, err, says, text)
	}
}
