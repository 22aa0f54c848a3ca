package conformance

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

func sessionCases() []script {
	var all []script
	for _, timeout := range []int32{-5, 0, 1, 399, 400, 401, 1234, 39999, 40000, 40001, 1 << 30} {
		all = append(all, script{fmt.Sprintf("session-timeout-%d", timeout), func(p *player) {
			p.join("a", timeout)
		}})
	}
	return append(all,
		script{"session-without-read-only-byte", func(p *player) {
			p.enter("old", connectRequest(0, 0, 10000, 0, make([]byte, 16), false)).exists(p.root, false)
		}},
		script{"session-hello-variants", func(p *player) {
			p.enter("version", connectRequest(7, 0, 10000, 0, make([]byte, 16), true))
			p.enter("no-password", connectRequest(0, 0, 10000, 0, nil, true))
			p.enter("short-password", connectRequest(0, 0, 10000, 0, []byte("x"), true))
			p.enter("long-password", connectRequest(0, 0, 10000, 0, make([]byte, 100), true))
			p.enter("longer", append(connectRequest(0, 0, 10000, 0, make([]byte, 16), true), 1, 2, 3))
		}},
		script{"session-read-only-asked", func(p *player) {
			p.enter("a", append(connectRequest(0, 0, 10000, 0, make([]byte, 16), false), 1)).create(p.casePath("/x"), 0)
		}},
		script{"session-zxid-of-the-future", func(p *player) {
			p.enter("a", connectRequest(0, 1<<50, 10000, 0, make([]byte, 16), true))
		}},
		script{"session-again", func(p *player) {
			c := p.join("a", 30000)
			c.create(p.casePath("/e"), flagEphemeral)
			c.exists(p.casePath("/w"), true)
			c.dropConnection()
			d := c.attachAgain(nil)
			d.exists(p.casePath("/e"), false)
			d.create(p.casePath("/w"), 0) // the watch of the old connection is gone
			d.readEvents()
			d.delete(p.casePath("/e"), -1)
		}},
		script{"session-again-with-another-timeout", func(p *player) {
			c := p.join("a", 30000)
			c.dropConnection()
			c.w.timeout = 1000
			c.attachAgain(nil).exists(p.root, false)
		}},
		script{"session-wrong-password", func(p *player) {
			c := p.join("a", 30000)
			c.create(p.casePath("/e"), flagEphemeral)
			c.dropConnection()
			bad := c.attachAgain(func(_ *int64, passwd []byte) { passwd[3] ^= 1 })
			if !bad.closed {
				bad.readEvents()
			}
			d := c.attachAgain(nil)
			d.exists(p.casePath("/e"), false)
		}},
		script{"session-unknown", func(p *player) {
			c := p.join("a", 30000)
			c.dropConnection()
			bad := c.attachAgain(func(sid *int64, _ []byte) { *sid ^= 0x5555 })
			if !bad.closed {
				bad.readEvents()
			}
			c.attachAgain(nil)
		}},
		script{"session-moved", func(p *player) {
			c := p.join("a", 30000)
			c.exists(p.casePath("/w"), true)
			d := c.attachAgain(nil) // while the old connection is open
			c.name = "old"
			c.readEvents()
			d.create(p.casePath("/w"), flagEphemeral)
			d.readEvents()
		}},
		script{"session-close-ends-ephemerals", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/p"), 0)
			for i := range 3 {
				a.create(p.casePath(fmt.Sprintf("/p/e%d", i)), flagEphemeral)
			}
			b.children(p.casePath("/p"), true)
			a.close()
			b.readEvents()
			b.children(p.casePath("/p"), false)
			b.exists(p.casePath("/p"), false)
			c := a.attachAgain(nil)
			if !c.closed {
				c.readEvents()
			}
		}},
		script{"session-close-is-answered", func(p *player) {
			c := p.join("a", 30000)
			c.logRequest("close", opClose, nil)
			c.readEvents()
		}},
		script{"session-expires", func(p *player) {
			a, b := p.join("a", 600), p.join("b", 30000)
			a.create(p.casePath("/e"), flagEphemeral)
			b.exists(p.casePath("/e"), false)
			a.dropConnection()
			waitGone(p, b, p.casePath("/e"))
			c := a.attachAgain(nil)
			if !c.closed {
				c.readEvents()
			}
		}},
		script{"session-pings-keep-it", func(p *player) {
			a := p.join("a", 30000)
			for range 3 {
				a.doAs(xidPing, "ping", opPing, nil)
			}
		}},
		script{"session-removed-by-name", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/e"), flagEphemeral)
			b.create(p.casePath("/e/below"), 0)
			b.multi("below", mCreate(p.casePath("/e/below"), 0))
			b.container(p.casePath("/e/below"))
			b.delete(p.casePath("/e"), 0)
			a.close()
			b.children(p.root, false)
		}},
	)
}

// sendRaw sends bytes on a connection and logs the effects.
func (p *player) sendRaw(name string, session bool, data []byte) {
	var c *client
	if session {
		c = p.join(name, 30000)
	} else {
		w, err := connect(p.addr)
		if err != nil {
			p.logNote("%s cannot connect", name)
			return
		}
		c = &client{p: p, name: name, w: w}
		p.clients = append(p.clients, c)
	}
	if _, err := c.w.Write(data); err == nil {
		c.logEnd()
	}
	if !c.closed { // alive then, or in no state to tell
		c.doAs(xidPing, "ping", opPing, nil)
	}
	c.closed = true
	_ = c.w.Close()
}

// logEnd logs the replies to an odd request, and whether the server then
// closes. The server gets some time: the close follows the reply, and an
// immediate ping would race with the close.
func (c *client) logEnd() {
	for {
		f, err := c.w.nextWithin(300 * time.Millisecond)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			c.readEvents() // late frames come before the answer to a ping
			return
		}
		if err != nil {
			c.logLine("connection closed")
			c.closed = true
			return
		}
		c.logLine("reply %d err %d", f.xid, f.err)
	}
}

// withLength puts a length before a message.
func withLength(b []byte) []byte { return append(body{}.int(int32(len(b))), b...) }

func frameCases() []script {
	head := func(op int32) body { return body{}.int(1).int(op) }
	root := func(b body) body { return b.str("/") }
	var all []script
	for name, data := range map[string][]byte{
		"empty":               withLength(nil),
		"negative-length":     body{}.int(-1),
		"huge-length":         body{}.int(1 << 30),
		"one-byte":            withLength([]byte{1}),
		"xid-only":            withLength(body{}.int(1)),
		"no-body":             withLength(head(opExists)),
		"short-path":          withLength(append(head(opExists), 0, 0, 0, 9, '/')),
		"negative-path":       withLength(head(opExists).int(-1).bool(false)),
		"path-too-negative":   withLength(head(opExists).int(-7).bool(false)),
		"huge-path":           withLength(head(opExists).int(1 << 30).bool(false)),
		"no-watch-flag":       withLength(root(head(opGetData))),
		"too-long":            withLength(append(root(head(opExists)).bool(false), "and more"...)),
		"create-no-acl":       withLength(head(opCreate).str("/frame-x").data(nil)),
		"create-many-acl":     withLength(head(opCreate).str("/frame-x").data(nil).int(1 << 20)),
		"create-negative-acl": withLength(head(opCreate).str("/frame-x").data(nil).int(-1).int(1)),
		"create-short-flags":  withLength(append(head(opCreate).str("/frame-x").data(nil).acl(open), 0, 0)),
		"multi-no-end":        withLength(append(head(opMulti).int(opCheck).bool(false).int(-1), body{}.str("/").int(0)...)),
		"multi-no-body":       withLength(head(opMulti)),
		"set-watches-short":   withLength(head(opSetWatches).long(0).int(3)),
		"auth-no-body":        withLength(body{}.int(xidAuth).int(opAuth)),
		"close-with-body":     withLength(append(head(opClose), "xx"...)),
		"second-hello":        withLength(connectRequest(0, 0, 5000, 0, make([]byte, 16), true)),
	} {
		all = append(all, script{"frame-" + name, func(p *player) { p.sendRaw("a", true, data) }})
	}
	for name, data := range map[string][]byte{
		"empty":          withLength(nil),
		"short":          withLength(body{}.int(0).long(0)),
		"no-password":    withLength(body{}.int(0).long(0).int(1000).long(0)),
		"negative":       body{}.int(-2),
		"huge":           body{}.int(0x7fffffff),
		"http":           []byte("GET / HTTP/1.0\r\n\r\n"),
		"request-first":  withLength(root(head(opExists)).bool(false)),
		"password-short": withLength(body{}.int(0).long(0).int(1000).long(0).int(16).int(0)),
		"long":           withLength([]byte(strings.Repeat("x", 2000))),
	} {
		all = append(all, script{"hello-" + name, func(p *player) { p.sendRaw("a", false, data) }})
	}
	return all
}
