package digestmd5

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The example of RFC 2831, section 4.
func TestResponsesAreThoseOfTheStandard(t *testing.T) {
	e := exchange{
		user: "chris", password: "secret", realm: "elwood.innosoft.com", nonce: "OA6MG9tEQGm2hh",
		cnonce: "OA6MHXh6VqTrRk", count: "00000001", uri: "imap/elwood.innosoft.com",
	}
	require.Equal(t, "d388dad90d4bbd760a152321f2143af7", e.response(clientMethod))
	require.Equal(t, "ea40f60335c427b5527b84dbabcdfffd", e.response(""))
}

func passwords(user string) (string, bool) {
	password, ok := map[string]string{"alice": "wonder", `a"b\c, d=e`: `p"w\`, "zoë": "ü", "": "empty"}[user]
	return password, ok
}

// authenticate lets both sides talk.
func authenticate(user, password string) (as string, err error) {
	c, s := NewClient(user, password), NewServer(passwords)
	token := c.Start()
	for range 10 {
		answer, user, err := s.Step(token)
		if err != nil {
			return "", err
		}
		if token, err = c.Step(answer); err != nil || token == nil {
			return user, err
		}
	}
	panic("it does not end")
}

func TestPasswordIsProvedByBothSides(t *testing.T) {
	for _, user := range []string{"alice", `a"b\c, d=e`, "zoë", ""} {
		password, _ := passwords(user)
		as, err := authenticate(user, password)
		require.NoError(t, err, user)
		require.Equal(t, user, as)
		_, err = authenticate(user, password+" ")
		require.ErrorIs(t, err, ErrRefused)
	}
	_, err := authenticate("bob", "")
	require.ErrorIs(t, err, ErrRefused, "no such user")
}

func TestServerThatDoesNotKnowThePasswordIsRefused(t *testing.T) {
	c := NewClient("alice", "wonder")
	s := NewServer(func(string) (string, bool) { return "guess", true })
	challenge, _, err := s.Step(nil)
	require.NoError(t, err)
	_, err = c.Step(challenge)
	require.NoError(t, err)
	_, err = c.Step([]byte("rspauth=" + exchange{user: "alice", password: "guess"}.response("")))
	require.ErrorIs(t, err, ErrRefused)
	_, err = c.Step(nil)
	require.ErrorIs(t, err, ErrRefused, "nor one that proves nothing")
}

func TestResponseIsGoodOnce(t *testing.T) {
	c, s := NewClient("alice", "wonder"), NewServer(passwords)
	challenge, _, err := s.Step(nil)
	require.NoError(t, err)
	response, err := c.Step(challenge)
	require.NoError(t, err)
	another := NewServer(passwords)
	_, _, err = another.Step(nil)
	require.NoError(t, err)
	_, _, err = another.Step(response)
	require.ErrorIs(t, err, ErrRefused)
}

func TestUnusableChallengesAreNamed(t *testing.T) {
	for challenge, want := range map[string]string{
		"":                             "no SASL",
		`realm="x",algorithm=md5-sess`: "nonce",
		`nonce="x"`:                    "md5-sess",
		`nonce="x`:                     "does not end",
		`nonce`:                        "no name",
		`=x`:                           "no name",
		`nonce="x",qop="auth-int, auth-conf",algorithm=md5-sess`: "auth-int",
	} {
		_, err := NewClient("alice", "wonder").Step([]byte(challenge))
		require.ErrorContains(t, err, want, challenge)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`realm="zk-sasl-md5",nonce="a\"b",qop="auth",charset=utf-8,algorithm=md5-sess`))
	f.Add([]byte(`a="`))
	f.Fuzz(func(t *testing.T, token []byte) {
		values, err := parse(token)
		if err != nil {
			return
		}
		var l list
		for name, value := range values {
			l.addQuoted(name, value)
		}
		again, err := parse(l)
		require.NoError(t, err)
		require.Equal(t, values, again)
	})
}
