package conformance

import (
	"fmt"
	"net"
	"slices"
)

// logCounters logs the fields of a node's Stat about children. The parents of the
// sequence cases were created in different ways, so the other fields differ.
func (c *client) logCounters(path string) {
	f, err := c.exchangeFrames(opExists, body{}.str(path).bool(false))
	r := f.rest
	r.takeBytes(8 * 4)
	version, cversion := r.int(), r.int()
	r.takeBytes(4 + 8 + 4)
	c.logLine("counter %s: %v %d version %d cversion %d children %d", path, err, f.err, version, cversion, r.int())
}

// sequenceCases use the parents whose counters are near their end.
func sequenceCases() []script {
	return []script{
		withClient("sequence-overflow-plain", func(c *client, _ func(string) string) {
			for range 6 {
				c.create("/seq-plain/n-", flagSequence)
				c.logCounters("/seq-plain")
			}
			c.delete("/seq-plain/n-2147483647", -1)
			c.create("/seq-plain/n-", flagSequence)
			c.create("/seq-plain/n-", flagSequence)
			c.children1("/seq-plain", false)
		}),
		withClient("sequence-overflow-ephemeral", func(c *client, _ func(string) string) {
			for i := range 4 {
				c.create2(fmt.Sprintf("/seq-ephemeral/%d-", i), flagSequence|flagEphemeral)
			}
			c.children1("/seq-ephemeral", false)
		}),
		withClient("sequence-overflow-in-a-transaction", func(c *client, _ func(string) string) {
			c.multi("three", mCreate("/seq-multi/a-", flagSequence), mCreate("/seq-multi/b-", flagSequence),
				mCreate("/seq-multi/c-", flagSequence))
			c.multi("two", mCreate("/seq-multi/d-", flagSequence), mCreate("/seq-multi/e-", flagSequence))
			c.children1("/seq-multi", false)
		}),
		withClient("sequence-overflow-by-other-children", func(c *client, _ func(string) string) {
			for i := range 9 {
				c.create(fmt.Sprintf("/seq-other/plain%d", i), 0)
			}
			c.create("/seq-other/n-", flagSequence)
			c.create("/seq-other/m-", flagSequence)
			c.logCounters("/seq-other")
		}),
	}
}

// multiCases are transactions, good ones and each way to fail.
func multiCases() []script {
	all := []script{
		withClient("multi-empty", func(c *client, _ func(string) string) { c.multi("empty") }),
		withClient("multi-all-kinds", func(c *client, at func(string) string) {
			c.create(at("/old"), 0)
			c.multi("all", mCheck(at("/old"), 0), mCreate(at("/a"), 0), mCreate2(at("/b")), mCreate(at("/a/e"), flagEphemeral),
				mCreate(at("/a/q-"), flagSequence), mSet(at("/a"), 0), mCheck(at("/a"), 1), mSet(at("/a"), 1), mDelete(at("/old"), 0))
			c.get(at("/a"), false)
			c.children(at(""), false)
			c.children(at("/a"), false)
		}),
		withClient("multi-with-containers-and-ttl", func(c *client, at func(string) string) {
			c.multi("container", part{opContainer, createBody(at("/c"), "x", flagContainer)}, mCreate(at("/c/k"), 0))
			c.multi("ttl", part{opTTL, createBody(at("/t"), "x", flagTTL).long(3600_000)}, mCheck(at("/t"), 0))
			c.exists(at("/c"), false)
			c.exists(at("/t"), false)
		}),
		withClient("multi-create-and-delete-the-same", func(c *client, at func(string) string) {
			c.multi("come and go", mCreate(at("/a"), 0), mDelete(at("/a"), 0), mCreate(at("/a"), 0), mSet(at("/a"), 0))
			c.exists(at("/a"), false)
			c.exists(at(""), false)
		}),
		withClient("multi-move", func(c *client, at func(string) string) {
			c.create(at("/from"), 0)
			c.create(at("/to"), 0)
			c.create(at("/from/x"), flagEphemeral)
			c.multi("move", mDelete(at("/from/x"), -1), mCreate(at("/to/x"), flagEphemeral))
			c.children(at("/from"), false)
			c.children(at("/to"), false)
		}),
		withClient("multi-only-checks", func(c *client, at func(string) string) {
			c.multi("ok", mCheck(at(""), 0), mCheck(at(""), -1))
			c.multi("bad", mCheck(at(""), 0), mCheck(at(""), 3))
			c.multi("none", mCheck(at("/none"), -1))
			c.exists(at(""), false)
		}),
		withClient("multi-read-in-a-write", func(c *client, at func(string) string) {
			c.multi("read", mCreate(at("/a"), 0), part{opGetData, body{}.str(at("/a")).bool(false)})
		}),
		withClient("multi-read-with-errors", func(c *client, at func(string) string) {
			c.logRequest("multiRead", opMultiRead, multiBody([]part{
				{opGetData, body{}.str(at("/none")).bool(false)}, {opGetChildren, body{}.str(at("")).bool(false)},
				{opGetData, body{}.str(at("")).bool(false)},
			}))
			c.logRequest("multiRead", opMultiRead, multiBody(nil))
		}),
		withClient("multi-sequence-numbers", func(c *client, at func(string) string) {
			c.multi("four", mCreate(at("/q-"), flagSequence), mCreate(at("/plain"), 0),
				mCreate(at("/q-"), flagSequence), mDelete(at("/plain"), -1))
			c.create(at("/q-"), flagSequence)
			c.multi("fails", mCreate(at("/q-"), flagSequence), mCheck(at("/none"), 0))
			c.create(at("/q-"), flagSequence)
			c.exists(at(""), false)
		}),
		{"multi-fires-watches", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/x"), 0)
			b.get(p.casePath("/x"), true)
			b.exists(p.casePath("/y"), true)
			b.children(p.casePath(""), true)
			b.addWatch(p.casePath(""), 1)
			a.multi("all", mCreate(p.casePath("/y"), 0), mSet(p.casePath("/x"), 0), mDelete(p.casePath("/x"), 1), mCheck(p.casePath("/y"), 0))
			b.readEvents()
			a.multi("fails", mSet(p.casePath("/y"), 0), mCreate(p.casePath("/y"), 0))
			b.readEvents()
		}},
	}
	failures := map[string]func(at func(string) string) part{
		"create-exists":    func(at func(string) string) part { return mCreate(at("/there"), 0) },
		"create-no-parent": func(at func(string) string) part { return mCreate(at("/no/parent"), 0) },
		"create-bad-path":  func(func(string) string) part { return mCreate("bad", 0) },
		"create-bad-acl": func(at func(string) string) part {
			return part{opCreate, body{}.str(at("/z")).data(nil).acl(nil).int(0)}
		},
		"create-bad-flags":      func(at func(string) string) part { return mCreate(at("/z"), 42) },
		"create-below-own":      func(at func(string) string) part { return mCreate(at("/first/below"), 0) },
		"delete-missing":        func(at func(string) string) part { return mDelete(at("/none"), -1) },
		"delete-version":        func(at func(string) string) part { return mDelete(at("/there"), 9) },
		"delete-not-empty":      func(at func(string) string) part { return mDelete(at(""), -1) },
		"set-missing":           func(at func(string) string) part { return mSet(at("/none"), -1) },
		"set-version":           func(at func(string) string) part { return mSet(at("/there"), 9) },
		"check-missing":         func(at func(string) string) part { return mCheck(at("/none"), -1) },
		"check-version":         func(at func(string) string) part { return mCheck(at("/there"), 9) },
		"check-bad-path":        func(func(string) string) part { return mCheck("", 0) },
		"kind-unknown":          func(at func(string) string) part { return part{77, body{}.str(at("/there"))} },
		"kind-setACL":           func(at func(string) string) part { return part{opSetACL, body{}.str(at("/there")).acl(open).int(0)} },
		"create2-exists":        func(at func(string) string) part { return mCreate2(at("/there")) },
		"delete-created-before": func(at func(string) string) part { return mDelete(at("/first"), 3) },
	}
	for name, bad := range failures {
		for where := range 3 {
			all = append(all, withClient(fmt.Sprintf("multi-fails-%s-%d", name, where), func(c *client, at func(string) string) {
				c.create(at("/there"), 0)
				good := []part{mCreate(at("/first"), flagEphemeral), mSet(at("/there"), 0)}
				parts := append(append(append([]part{}, good[:where]...), bad(at)), good[where:]...)
				c.multi(name, parts...)
				if c.closed {
					return
				}
				c.children(at(""), false)
				c.get(at("/there"), false)
				c.create(at("/next-"), flagSequence)
			}))
		}
	}
	return all
}

// aclCases test the effects of each permission, and the identities of a client.
func aclCases() []script {
	const digest = "bob:ikIaKsbtGweaHnb/jKn7OHqbunM=" // base64 of SHA-1 of bob:pw
	ops := map[string]func(c *client, path string){
		"create":   func(c *client, path string) { c.create(path+"/new", 0) },
		"delete":   func(c *client, path string) { c.delete(path+"/kid", -1) },
		"get":      func(c *client, path string) { c.get(path, false) },
		"children": func(c *client, path string) { c.children(path, false) },
		"set":      func(c *client, path string) { c.set(path, -1) },
		"setACL":   func(c *client, path string) { c.setACL(path, open, -1) },
		"getACL":   func(c *client, path string) { c.getACL(path) },
		"exists":   func(c *client, path string) { c.exists(path, true) },
		"check":    func(c *client, path string) { c.multi("check", mCheck(path, 0)) },
		"addWatch": func(c *client, path string) { c.addWatch(path, 1) },
		"multi": func(c *client, path string) {
			c.multi("set", mCreate("/acl-free-"+path[1:4], flagEphemeral), mSet(path, -1))
		},
		"sync": func(c *client, path string) { c.logRequest("sync", opSync, body{}.str(path)) },
	}
	var all []script
	for name, run := range ops {
		for _, perms := range []int32{0, 1, 2, 4, 8, 16, 30, 15} {
			all = append(all, script{fmt.Sprintf("acl-%s-%d", name, perms), func(p *player) {
				a, b := p.join("a", 30000), p.join("b", 30000)
				a.auth("digest", "bob:pw")
				list := []acl{{perms, "world", "anyone"}, {31, "digest", digest}}
				a.logRequest("create", opCreate, body{}.str(p.casePath("/n")).data([]byte("x")).acl(list).int(0))
				a.create(p.casePath("/n/kid"), 0)
				run(b, p.casePath("/n"))
				run(a, p.casePath("/n"))
				a.setACL(p.casePath("/n"), open, -1) // lets the clean-up delete the node
			}})
		}
	}
	for i, list := range [][]acl{
		nil, {{31, "auth", ""}}, {{31, "digest", digest}}, {{31, "digest", "nocolon"}}, {{31, "digest", "a:b:c"}}, {{31, "digest", ""}},
		{{31, "world", "someone"}}, {{31, "ip", "own"}}, {{31, "ip", "10.0.0.0/8"}}, {{31, "ip", "10.0.0.0/99"}}, {{31, "ip", "none"}},
		{{31, "nobody", "x"}}, {{0, "world", "anyone"}}, {{63, "world", "anyone"}}, {{-1, "world", "anyone"}},
		{{1, "world", "anyone"}, {1, "world", "anyone"}}, {{31, "world", "anyone"}, {31, "auth", ""}}, {{31, "", ""}}, {{31, "x509", "cn"}},
	} {
		for _, known := range []bool{false, true} {
			all = append(all, script{fmt.Sprintf("acl-list-%02d-%t", i, known), func(p *player) {
				c := p.join("a", 30000)
				list := slices.Clone(list)
				for i, a := range list {
					if a.id == "own" {
						list[i].id = c.w.LocalAddr().(*net.TCPAddr).IP.String()
					}
				}
				if known {
					c.auth("digest", "bob:pw")
					c.auth("digest", "eve:pw")
				}
				c.logRequest("create", opCreate, body{}.str(p.casePath("/n")).data(nil).acl(list).int(0))
				c.getACL(p.casePath("/n"))
				c.create(p.casePath("/m"), 0)
				c.setACL(p.casePath("/m"), list, 0)
				c.getACL(p.casePath("/m"))
				c.setACL(p.casePath("/m"), open, -1)
				c.setACL(p.casePath("/n"), open, -1)
			}})
		}
	}
	return append(all,
		script{"auth-wrong-scheme", func(p *player) {
			c := p.join("a", 30000)
			c.auth("nonsense", "x")
			if !c.closed {
				c.logRequest("exists", opExists, body{}.str(p.root).bool(false))
			}
		}},
		script{"auth-digest-odd", func(p *player) {
			for i, secret := range []string{"", "nocolon", ":", "a:", ":b", "a:b:c"} {
				c := p.join(fmt.Sprint("c", i), 30000)
				c.auth("digest", secret)
				if !c.closed {
					c.logRequest("whoAmI", opWhoAmI, nil)
				}
			}
		}},
		script{"auth-ip-and-world", func(p *player) {
			for _, scheme := range []string{"ip", "world"} {
				c := p.join(scheme, 30000)
				c.auth(scheme, "127.0.0.1")
				if !c.closed {
					c.logRequest("whoAmI", opWhoAmI, nil)
				}
			}
		}},
		script{"auth-is-of-the-connection", func(p *player) {
			c := p.join("a", 30000)
			c.auth("digest", "bob:pw")
			c.logRequest("create", opCreate, body{}.str(p.casePath("/n")).data(nil).acl([]acl{{31, "auth", ""}}).int(0))
			c.dropConnection()
			d := c.attachAgain(nil)
			d.get(p.casePath("/n"), false)
			d.auth("digest", "bob:pw")
			d.get(p.casePath("/n"), false)
		}},
	)
}
