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
			p.enter("old", hello(0, 0, 10000, 0, make([]byte, 16), false)).exists(p.root, false)
		}},
		script{"session-hello-variants", func(p *player) {
			p.enter("version", hello(7, 0, 10000, 0, make([]byte, 16), true))
			p.enter("no-password", hello(0, 0, 10000, 0, nil, true))
			p.enter("short-password", hello(0, 0, 10000, 0, []byte("x"), true))
			p.enter("long-password", hello(0, 0, 10000, 0, make([]byte, 100), true))
			p.enter("longer", append(hello(0, 0, 10000, 0, make([]byte, 16), true), 1, 2, 3))
		}},
		script{"session-read-only-asked", func(p *player) {
			p.enter("a", append(hello(0, 0, 10000, 0, make([]byte, 16), false), 1)).create(p.at("/x"), 0)
		}},
		script{"session-zxid-of-the-future", func(p *player) {
			p.enter("a", hello(0, 1<<50, 10000, 0, make([]byte, 16), true))
		}},
		script{"session-again", func(p *player) {
			c := p.join("a", 30000)
			c.create(p.at("/e"), flagEphemeral)
			c.exists(p.at("/w"), true)
			c.drop()
			d := c.again(nil)
			d.exists(p.at("/e"), false)
			d.create(p.at("/w"), 0) // the watch of the old connection is gone
			d.settle()
			d.delete(p.at("/e"), -1)
		}},
		script{"session-again-with-another-timeout", func(p *player) {
			c := p.join("a", 30000)
			c.drop()
			c.w.timeout = 1000
			c.again(nil).exists(p.root, false)
		}},
		script{"session-wrong-password", func(p *player) {
			c := p.join("a", 30000)
			c.create(p.at("/e"), flagEphemeral)
			c.drop()
			bad := c.again(func(_ *int64, passwd []byte) { passwd[3] ^= 1 })
			if !bad.closed {
				bad.settle()
			}
			d := c.again(nil)
			d.exists(p.at("/e"), false)
		}},
		script{"session-unknown", func(p *player) {
			c := p.join("a", 30000)
			c.drop()
			bad := c.again(func(sid *int64, _ []byte) { *sid ^= 0x5555 })
			if !bad.closed {
				bad.settle()
			}
			c.again(nil)
		}},
		script{"session-moved", func(p *player) {
			c := p.join("a", 30000)
			c.exists(p.at("/w"), true)
			d := c.again(nil) // while the old connection is open
			c.name = "old"
			c.settle()
			d.create(p.at("/w"), flagEphemeral)
			d.settle()
		}},
		script{"session-close-ends-ephemerals", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.at("/p"), 0)
			for i := range 3 {
				a.create(p.at(fmt.Sprintf("/p/e%d", i)), flagEphemeral)
			}
			b.children(p.at("/p"), true)
			a.close()
			b.settle()
			b.children(p.at("/p"), false)
			b.exists(p.at("/p"), false)
			c := a.again(nil)
			if !c.closed {
				c.settle()
			}
		}},
		script{"session-close-is-answered", func(p *player) {
			c := p.join("a", 30000)
			c.do("close", opClose, nil)
			c.settle()
		}},
		script{"session-expires", func(p *player) {
			a, b := p.join("a", 600), p.join("b", 30000)
			a.create(p.at("/e"), flagEphemeral)
			b.exists(p.at("/e"), false)
			a.drop()
			waitGone(p, b, p.at("/e"))
			c := a.again(nil)
			if !c.closed {
				c.settle()
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
			a.create(p.at("/e"), flagEphemeral)
			b.create(p.at("/e/below"), 0)
			b.multi("below", mCreate(p.at("/e/below"), 0))
			b.container(p.at("/e/below"))
			b.delete(p.at("/e"), 0)
			a.close()
			b.children(p.root, false)
		}},
	)
}

// raw sends bytes on a connection and logs the effects.
func (p *player) raw(name string, session bool, data []byte) {
	var c *client
	if session {
		c = p.join(name, 30000)
	} else {
		w, err := connect(p.addr)
		if err != nil {
			p.note("%s cannot connect", name)
			return
		}
		c = &client{p: p, name: name, w: w}
		p.clients = append(p.clients, c)
	}
	if _, err := c.w.Write(data); err == nil {
		c.afterwards()
	}
	if !c.closed { // alive then, or in no state to tell
		c.doAs(xidPing, "ping", opPing, nil)
	}
	c.closed = true
	_ = c.w.Close()
}

// afterwards logs the replies to an odd request, and whether the server then
// closes. The server gets some time: the close follows the reply, and an
// immediate ping would race with the close.
func (c *client) afterwards() {
	for {
		f, err := c.w.nextWithin(300 * time.Millisecond)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			c.settle() // late frames come before the answer to a ping
			return
		}
		if err != nil {
			c.log("connection closed")
			c.closed = true
			return
		}
		c.log("reply %d err %d", f.xid, f.err)
	}
}

// framed puts a length before a message.
func framed(b []byte) []byte { return append(body{}.int(int32(len(b))), b...) }

func frameCases() []script {
	head := func(op int32) body { return body{}.int(1).int(op) }
	root := func(b body) body { return b.str("/") }
	var all []script
	for name, data := range map[string][]byte{
		"empty":               framed(nil),
		"negative-length":     body{}.int(-1),
		"huge-length":         body{}.int(1 << 30),
		"one-byte":            framed([]byte{1}),
		"xid-only":            framed(body{}.int(1)),
		"no-body":             framed(head(opExists)),
		"short-path":          framed(append(head(opExists), 0, 0, 0, 9, '/')),
		"negative-path":       framed(head(opExists).int(-1).bool(false)),
		"path-too-negative":   framed(head(opExists).int(-7).bool(false)),
		"huge-path":           framed(head(opExists).int(1 << 30).bool(false)),
		"no-watch-flag":       framed(root(head(opGetData))),
		"too-long":            framed(append(root(head(opExists)).bool(false), "and more"...)),
		"create-no-acl":       framed(head(opCreate).str("/frame-x").data(nil)),
		"create-many-acl":     framed(head(opCreate).str("/frame-x").data(nil).int(1 << 20)),
		"create-negative-acl": framed(head(opCreate).str("/frame-x").data(nil).int(-1).int(1)),
		"create-short-flags":  framed(append(head(opCreate).str("/frame-x").data(nil).acl(open), 0, 0)),
		"multi-no-end":        framed(append(head(opMulti).int(opCheck).bool(false).int(-1), body{}.str("/").int(0)...)),
		"multi-no-body":       framed(head(opMulti)),
		"set-watches-short":   framed(head(opSetWatches).long(0).int(3)),
		"auth-no-body":        framed(body{}.int(xidAuth).int(opAuth)),
		"close-with-body":     framed(append(head(opClose), "xx"...)),
		"second-hello":        framed(hello(0, 0, 5000, 0, make([]byte, 16), true)),
	} {
		all = append(all, script{"frame-" + name, func(p *player) { p.raw("a", true, data) }})
	}
	for name, data := range map[string][]byte{
		"empty":          framed(nil),
		"short":          framed(body{}.int(0).long(0)),
		"no-password":    framed(body{}.int(0).long(0).int(1000).long(0)),
		"negative":       body{}.int(-2),
		"huge":           body{}.int(0x7fffffff),
		"http":           []byte("GET / HTTP/1.0\r\n\r\n"),
		"request-first":  framed(root(head(opExists)).bool(false)),
		"password-short": framed(body{}.int(0).long(0).int(1000).long(0).int(16).int(0)),
		"long":           framed([]byte(strings.Repeat("x", 2000))),
	} {
		all = append(all, script{"hello-" + name, func(p *player) { p.raw("a", false, data) }})
	}
	return all
}
