package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/digestmd5"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

const opSASL = 102

// saslUsers are the users of both servers.
func saslUsers() map[string]string { return map[string]string{"ann": "secret", "bob": "other"} }

// saslPlayer is one connection of the script.
type saslPlayer struct {
	*testing.T
	w   *wire
	log func(format string, args ...any)
}

// greet makes a connection with a session of its own.
func greet(t *testing.T, addr, what string, log func(format string, args ...any)) *saslPlayer {
	log("%s", what)
	w, err := connect(addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	_, err = w.handshake(connectRequest(0, 0, 10000, 0, make([]byte, 16), true))
	require.NoError(t, err)
	return &saslPlayer{T: t, w: w, log: log}
}

// ask sends a request, and logs how it is answered.
func (p *saslPlayer) ask(what string, op int32, b body) (frame, bool) {
	if err := p.w.send(append(body{}.int(7).int(op), b...)); err != nil {
		p.log("  %s: closed", what)
		return frame{}, false
	}
	f, err := p.w.next()
	if err != nil {
		p.log("  %s: %s", what, describeEnd(err))
		return frame{}, false
	}
	p.log("  %s: xid %d, code %d", what, f.xid, f.err)
	return f, true
}

// token sends a token, and returns the server's.
func (p *saslPlayer) token(what string, token []byte) []byte {
	f, ok := p.ask(what, opSASL, body{}.data(token))
	if !ok {
		return nil
	}
	switch answer := f.rest.str(); {
	case f.rest.err != nil:
		p.log("    no token")
	case answer == "", answer == "<null>":
		p.log("    token %q", answer)
	default:
		p.log("    a token")
		return []byte(answer)
	}
	return nil
}

// login plays the exchange of a user.
func (p *saslPlayer) login(user, password string) {
	c := digestmd5.NewClient(user, password)
	challenge := p.token("begin as "+user, c.Start())
	if challenge == nil {
		return
	}
	response, err := c.Step(challenge)
	require.NoError(p, err)
	if proof := p.token("respond", response); proof != nil {
		_, err = c.Step(proof)
		p.log("    the proof is right: %v", err == nil)
	}
}

// isOpen logs whether the server still answers.
func (p *saslPlayer) isOpen() { p.ask("exists", 3, body{}.str("/").bool(false)) }

// saslScript returns what clients see of a server.
func saslScript(t *testing.T, addr string) (lines []string) {
	log := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	play := func(what string, script func(p *saslPlayer)) { script(greet(t, addr, what, log)) }
	mine := body{}.acl([]acl{{31, "sasl", "ann"}})
	creation := func(path string, acl body) body { return append(body{}.str(path).data([]byte("x")), acl.int(0)...) }

	play("without authentication", func(p *saslPlayer) { p.isOpen() })
	play("ann", func(p *saslPlayer) {
		p.login("ann", "secret")
		p.ask("create", 1, creation("/ann", mine))
		p.ask("get", 4, body{}.str("/ann").bool(false))
	})
	play("bob", func(p *saslPlayer) {
		p.login("bob", "other")
		p.ask("get", 4, body{}.str("/ann").bool(false))
		p.ask("set", 5, body{}.str("/ann").data(nil).int(-1))
	})
	play("bob, then ann", func(p *saslPlayer) {
		p.login("bob", "other")
		p.login("ann", "secret")
		p.ask("get", 4, body{}.str("/ann").bool(false))
		p.isOpen()
	})
	play("a wrong password", func(p *saslPlayer) { p.login("ann", "wrong"); p.isOpen() })
	play("a user that does not exist", func(p *saslPlayer) { p.login("eve", "wrong"); p.isOpen() })
	play("ann, after bob's failure on another connection", func(p *saslPlayer) { p.login("ann", "secret"); p.isOpen() })
	play("garbage for a response", func(p *saslPlayer) {
		p.token("begin", []byte{})
		p.token("garbage", []byte("garbage"))
		p.isOpen()
	})
	play("an empty response", func(p *saslPlayer) {
		p.token("begin", []byte{})
		p.token("empty", []byte{})
		p.isOpen()
	})
	play("requests between the tokens", func(p *saslPlayer) {
		c := digestmd5.NewClient("ann", "secret")
		challenge := p.token("begin", c.Start())
		p.isOpen()
		if challenge == nil {
			return
		}
		response, err := c.Step(challenge)
		require.NoError(p, err)
		p.token("respond", response)
		p.isOpen()
	})
	play("the scheme digest beside", func(p *saslPlayer) {
		p.ask("digest", opAuth, body{}.int(0).str("digest").data([]byte("ann:secret")))
		p.isOpen()
		p.login("ann", "secret")
		p.isOpen()
	})
	play("a response to another connection's challenge", func(p *saslPlayer) {
		other := greet(p.T, addr, "(the other)", log)
		c := digestmd5.NewClient("ann", "secret")
		challenge := other.token("begin", c.Start())
		p.token("begin", []byte{})
		response, err := c.Step(challenge)
		require.NoError(p, err)
		p.token("respond", response)
		p.isOpen()
	})
	return lines
}

// Clients that authenticate by SASL see the same of both servers, whether they must
// authenticate or not.
func TestSASLIsAnsweredAsApacheDoes(t *testing.T) {
	for _, enforced := range []bool{false, true} {
		t.Run(fmt.Sprintf("enforced %v", enforced), func(t *testing.T) {
			t.Parallel()
			config, ours := map[string]string{}, &zktest.Options{SASLUsers: saslUsers(), TickTime: 200 * time.Millisecond, MaxSessionTimeout: time.Minute}
			if enforced {
				config = map[string]string{"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"}
				ours.EnforceAuth = []string{"sasl"}
			}
			real := apache.Require(t, &apache.Options{Own: true, SASLUsers: saslUsers(), Config: config})
			s, err := zktest.Start(ours)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			theirs, own := saslScript(t, real.Servers()[0]), saslScript(t, s.Addr())
			for _, line := range theirs {
				t.Log(line)
			}
			assert.Equal(t, theirs, own)
		})
	}
}
