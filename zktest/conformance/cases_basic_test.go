package conformance

import (
	"fmt"
	"strings"
	"time"
)

// script is one case.
type script struct {
	name string
	play func(p *player)
}

// withClient makes a script for one client with a session.
func withClient(name string, play func(c *client, at func(string) string)) script {
	return script{name, func(p *player) { play(p.join("a", 30000), p.casePath) }}
}

// states are the possible states of a path before a request.
// read only
var states = []string{"missing", "plain", "parent", "ephemeral", "container", "ttl", "sequence"}

// prepareState puts the named state at path.
func prepareState(c *client, state, path string) {
	switch state {
	case "plain":
		c.create(path, 0)
	case "parent":
		c.create(path, 0)
		c.create(path+"/kid", 0)
	case "ephemeral":
		c.create(path, flagEphemeral)
	case "container":
		c.container(path)
	case "ttl":
		c.ttl(path, flagTTL, 3600_000)
	case "sequence":
		c.create(path, 0)
		c.create(path+"/q-", flagSequence)
		c.create(path+"/q-", flagSequence|flagEphemeral)
	}
}

// stateCases are every simple request on every state, with the right version,
// any version, and a wrong version.
func stateCases() []script {
	ops := map[string]func(c *client, path string){
		"create":     func(c *client, path string) { c.create(path, 0) },
		"create2":    func(c *client, path string) { c.create2(path, 0) },
		"exists":     func(c *client, path string) { c.exists(path, false) },
		"get":        func(c *client, path string) { c.get(path, false) },
		"children":   func(c *client, path string) { c.children(path, false); c.children1(path, false) },
		"getACL":     func(c *client, path string) { c.getACL(path) },
		"setACL":     func(c *client, path string) { c.setACL(path, open, 0); c.setACL(path, open, 0) },
		"setACLany":  func(c *client, path string) { c.setACL(path, open, -1) },
		"set":        func(c *client, path string) { c.set(path, 0); c.set(path, 0); c.set(path, -1); c.set(path, 7) },
		"delete":     func(c *client, path string) { c.delete(path, 0) },
		"deleteAny":  func(c *client, path string) { c.delete(path, -1) },
		"deleteBad":  func(c *client, path string) { c.delete(path, 5) },
		"sync":       func(c *client, path string) { c.logRequest("sync", opSync, body{}.str(path)) },
		"below":      func(c *client, path string) { c.create(path+"/below", 0) },
		"seqBelow":   func(c *client, path string) { c.create(path+"/s-", flagSequence) },
		"allBelow":   func(c *client, path string) { c.logRequest("all", opAllChildren, body{}.str(path)) },
		"ephemerals": func(c *client, path string) { c.logRequest("ephemerals", opGetEphemerals, body{}.str(path)) },
		"multiRead": func(c *client, path string) {
			c.logRequest("multiRead", opMultiRead, multiBody([]part{
				{opGetData, body{}.str(path).bool(false)}, {opGetChildren, body{}.str(path).bool(false)},
			}))
		},
	}
	var all []script
	for op, run := range ops {
		for _, state := range states {
			all = append(all, withClient(fmt.Sprintf("state-%s-%s", op, state), func(c *client, at func(string) string) {
				prepareState(c, state, at("/n"))
				run(c, at("/n"))
				// The operation's effect on the node, the parent and the counter of the
				// parent.
				c.get(at("/n"), false)
				c.children(at(""), false)
				c.create(at("/next-"), flagSequence)
				c.exists(at(""), false)
			}))
		}
	}
	return all
}

// pathCases are invalid paths, and valid paths of unusual form.
func pathCases() []script {
	var all []script
	for i, path := range []string{
		"", "relative", "/", "//", "/a//b", "/trailing/", "/.", "/..", "/a/./b", "/a/../b", "/a/..", "/...", "/.hidden",
		"/null\x00x", "/ctrl\x01", "/ctrl\x1f", "/del\x7f", "/c1\u0085", "/nbsp\u00a0", "/ümlaut", "/日本", "/emoji😀",
		"/surrogate\xed\xa0\x80", "/bad\xff\xfe", "/private\ue000", "/special\ufff0", "/nonchar\uffff", "/sp ace", "/a\tb", "/star*?",
		"/zookeeper", "/zookeeper/quota",
	} {
		all = append(all, withClient(fmt.Sprintf("path-%02d", i), func(c *client, at func(string) string) {
			full := path
			if strings.HasPrefix(path, "/") && len(path) > 1 && !strings.HasPrefix(path, "/zoo") {
				full = at(path)
			}
			c.create(full, 0)
			if c.closed {
				return
			}
			c.create(full, flagSequence|flagEphemeral)
			if c.closed {
				return
			}
			c.logRequest("exists", opExists, body{}.str(full).bool(false))
			if c.closed {
				return
			}
			if !strings.HasPrefix(full, "/zoo") && full != "/" {
				c.delete(full, -1)
			}
		}))
	}
	return all
}

func basicCases() []script {
	return []script{
		withClient("create-flags", func(c *client, at func(string) string) {
			for flags := int32(-2); flags <= 9; flags++ {
				c.create(at(fmt.Sprintf("/f%d-", flags)), flags)
				c.create2(at(fmt.Sprintf("/g%d-", flags)), flags)
			}
			c.children(at(""), false)
		}),
		withClient("create-null-data", func(c *client, at func(string) string) {
			c.logRequest("create null", opCreate, body{}.str(at("/n")).data(nil).acl(open).int(0))
			c.get(at("/n"), false)
			c.logRequest("set null", opSetData, body{}.str(at("/n")).data(nil).int(0))
			c.logRequest("set empty", opSetData, body{}.str(at("/n")).data([]byte{}).int(1))
			c.get(at("/n"), false)
		}),
		withClient("create-parent-missing", func(c *client, at func(string) string) {
			c.create(at("/a/b"), 0)
			c.create(at("/a/b-"), flagSequence)
			c.create2(at("/a/b"), flagEphemeral)
			c.container(at("/a/b"))
			c.ttl(at("/a/b"), flagTTL, 1000)
		}),
		withClient("sequence-counts-all-children", func(c *client, at func(string) string) {
			c.create(at("/x"), 0)
			c.create(at("/q-"), flagSequence)
			c.create(at("/y"), flagEphemeral)
			c.delete(at("/x"), -1)
			c.create(at("/q-"), flagSequence)
			c.create(at("/q-"), flagSequence|flagEphemeral)
			c.create(at("/"), flagSequence)
			c.create(at("/x"), 0)
			c.create(at("/x"), 0)
			c.create(at("/q-"), flagSequence)
			c.children(at(""), false)
		}),
		withClient("sequence-restarts-with-its-parent", func(c *client, at func(string) string) {
			for range 2 {
				c.create(at("/p"), 0)
				c.create(at("/p/q-"), flagSequence)
				c.create(at("/p/q-"), flagSequence)
				c.delete(at("/p/q-0000000000"), -1)
				c.delete(at("/p/q-0000000001"), -1)
				c.delete(at("/p"), -1)
			}
		}),
		withClient("ephemeral-owner-and-list", func(c *client, at func(string) string) {
			c.create(at("/p"), 0)
			c.create(at("/p/e"), flagEphemeral)
			c.create2(at("/p/e-"), flagEphemeral|flagSequence)
			c.create(at("/other"), flagEphemeral)
			c.logRequest("ephemerals", opGetEphemerals, body{}.str(at("/p")))
			c.logRequest("ephemerals", opGetEphemerals, body{}.str("/nowhere"))
			c.logRequest("all", opAllChildren, body{}.str(at("")))
		}),
		withClient("ttl-values", func(c *client, at func(string) string) {
			for i, ttl := range []int64{-1, 0, 1, 0xffffffffff, 0x10000000000} {
				c.ttl(at(fmt.Sprintf("/t%d", i)), flagTTL, ttl)
				c.ttl(at(fmt.Sprintf("/s%d-", i)), flagTTLSequence, ttl)
			}
			c.logRequest("ttl with plain flags", opTTL, createBody(at("/plain"), "x", 0).long(1000))
			c.logRequest("ttl with ephemeral flags", opTTL, createBody(at("/eph"), "x", flagEphemeral).long(1000))
			c.logRequest("container with plain flags", opContainer, createBody(at("/plain2"), "x", 0))
			c.logRequest("ttl without ttl", opTTL, createBody(at("/none"), "x", flagTTL))
		}),
		withClient("delete-container-is-not-for-clients", func(c *client, at func(string) string) {
			c.container(at("/c"))
			c.logRequest("deleteContainer", opDeleteContainer, body{}.str(at("/c")))
			if !c.closed {
				c.exists(at("/c"), false)
			}
		}),
		withClient("pzxid-and-versions", func(c *client, at func(string) string) {
			c.create(at("/p"), 0)
			c.create(at("/p/a"), 0)
			c.set(at("/p/a"), 0)
			c.setACL(at("/p/a"), open, 0)
			c.create(at("/p/a/deep"), 0)
			c.exists(at("/p"), false)
			c.delete(at("/p/a/deep"), 0)
			c.exists(at("/p/a"), false)
			c.delete(at("/p/a"), 1)
			c.exists(at("/p"), false)
			c.set(at("/p"), 0)
			c.set(at("/p"), 0)
			c.exists(at("/p"), false)
		}),
		withClient("large-data", func(c *client, at func(string) string) {
			big := strings.Repeat("x", 1_000_000)
			c.logRequest("create big", opCreate, createBody(at("/big"), big, 0))
			f, err := c.exchangeFrames(opGetData, body{}.str(at("/big")).bool(false))
			c.logLine("get big: %v %d %d", err, f.err, len(f.rest.buf))
		}),
		withClient("frame-at-the-limit", func(c *client, at func(string) string) {
			// A frame of 0xfffff bytes is read; a longer frame is not.
			frame := func(n int) body {
				rest := len(createBody(at("/l"), "", 0)) + 8
				return createBody(at("/l"), strings.Repeat("x", n-rest), 0)
			}
			c.logRequest("create at the limit", opCreate, frame(0xfffff))
			if c.closed {
				return
			}
			c.delete(at("/l"), -1)
			c.logRequest("create above the limit", opCreate, frame(0x100000))
		}),
		{"unknown-requests", func(p *player) {
			for _, op := range []int32{10, 23, 24, 99, 108, -5, 1000, 0} {
				c := p.join(fmt.Sprint("op", op), 30000)
				c.logRequest(fmt.Sprint("unknown ", op), op, body{}.str("/"))
				if !c.closed {
					c.logEnd()
				}
			}
		}},
		withClient("reconfig-is-refused", func(c *client, _ func(string) string) {
			c.logRequest("reconfig", opReconf, body{}.str("server.9=x:1:2;3").str("").str("").long(-1))
		}),
		withClient("check-alone", func(c *client, at func(string) string) {
			// The check is never answered: the next reply belongs to the next
			// request.
			c.xid++
			if err := c.w.send(body{}.int(c.xid).int(opCheck).str(at("")).int(0)); err != nil {
				c.logLine("%v", err)
			}
			c.logRequest("exists", opExists, body{}.str(at("")).bool(false))
		}),
		withClient("configuration", func(c *client, _ func(string) string) {
			c.getACL("/zookeeper/config")
			c.children("/zookeeper", false)
		}),
		withClient("who-am-i", func(c *client, _ func(string) string) {
			c.logRequest("whoAmI", opWhoAmI, nil)
			c.auth("digest", "bob:pw")
			c.auth("digest", "eve:pw")
			c.logRequest("whoAmI", opWhoAmI, nil)
		}),
		withClient("same-xid-twice", func(c *client, at func(string) string) {
			c.doAs(7, "exists", opExists, body{}.str(at("")).bool(false))
			c.doAs(7, "exists", opExists, body{}.str(at("")).bool(false))
			c.doAs(-77, "exists", opExists, body{}.str(at("")).bool(false))
			c.doAs(0, "exists", opExists, body{}.str(at("")).bool(false))
		}),
		{"pipelined-requests-are-answered-in-order", func(p *player) {
			c := p.join("a", 30000)
			var all []byte
			for i := int32(1); i <= 20; i++ {
				var b body
				switch i % 4 {
				case 0:
					b = append(body{}.int(i).int(opSync), body{}.str(p.root)...)
				case 1:
					b = append(body{}.int(i).int(opCreate), createBody(p.casePath("/q-"), "", flagSequence)...)
				case 2:
					b = append(body{}.int(i).int(opGetChildren), body{}.str(p.root).bool(false)...)
				case 3:
					b = append(body{}.int(i).int(opExists), body{}.str(p.casePath("/none")).bool(true)...)
				}
				all = append(append(all, body{}.int(int32(len(b)))...), b...)
			}
			_, err := c.w.Write(all)
			for i := int32(1); i <= 20 && err == nil; i++ {
				var f frame
				f, err = c.readUntil(i)
				c.logLine("reply %d err %d at %s, %d bytes", i, f.err, p.relativeZxid(f.zxid), len(f.rest.buf))
			}
		}},
	}
}

// reapingCases wait for periodic work of the server. This work shifts the
// transaction ids of all other cases, so these cases have their own servers.
func reapingCases() []script {
	return []script{
		{"container-goes-with-its-last-child", func(p *player) {
			c := p.join("a", 30000)
			c.container(p.casePath("/c"))
			c.container(p.casePath("/never-used"))
			c.create(p.casePath("/c/kid"), 0)
			c.exists(p.casePath("/c"), true)
			c.delete(p.casePath("/c/kid"), -1)
			waitGone(p, c, p.casePath("/c"))
			c.children(p.casePath(""), false)
		}},
		{"ttl-node-goes-when-it-is-old-and-empty", func(p *player) {
			c := p.join("a", 30000)
			// Long enough for the next requests to be sent before the expiry.
			c.ttl(p.casePath("/parent"), flagTTL, 3000)
			c.create(p.casePath("/parent/kid"), 0)
			c.ttl(p.casePath("/young"), flagTTL, 3600_000)
			c.ttl(p.casePath("/old"), flagTTL, 3000)
			c.exists(p.casePath("/old"), true)
			waitGone(p, c, p.casePath("/old"))
			c.children(p.casePath(""), false)
		}},
	}
}

// waitGone waits until the server itself has removed a node. The case has set a
// watch while the node could not go yet: its event gets into the transcript.
func waitGone(p *player, c *client, path string) {
	deadline := time.Now().Add(patience)
	for f, err := c.exchangeFrames(opExists, body{}.str(path).bool(false)); f.err == 0; {
		if err != nil || time.Now().After(deadline) {
			p.logNote("%s stays (%v)", path, err)
			return
		}
		<-time.After(20 * time.Millisecond)
		f, err = c.exchangeFrames(opExists, body{}.str(path).bool(false))
	}
}
