package conformance

import "fmt"

// watches are the ways to watch a path.
// read only
var watches = map[string]func(c *client, path string){
	"exists":     func(c *client, path string) { c.exists(path, true) },
	"data":       func(c *client, path string) { c.get(path, true) },
	"children":   func(c *client, path string) { c.children(path, true) },
	"children1":  func(c *client, path string) { c.children1(path, true) },
	"persistent": func(c *client, path string) { c.addWatch(path, 0) },
	"recursive":  func(c *client, path string) { c.addWatch(path, 1) },
	"all": func(c *client, path string) {
		c.exists(path, true)
		c.get(path, true)
		c.children(path, true)
		c.addWatch(path, 0)
		c.addWatch(path, 1)
	},
}

// changes are possible changes at and around a watched path. The path exists
// unless the change creates it.
// read only
var changes = []struct {
	name   string
	absent bool
	run    func(c *client, path string)
}{
	{"create", true, func(c *client, path string) { c.create(path, 0) }},
	{"create-delete", true, func(c *client, path string) { c.create(path, 0); c.delete(path, -1) }},
	{"set", false, func(c *client, path string) { c.set(path, -1); c.set(path, -1) }},
	{"delete", false, func(c *client, path string) { c.delete(path, -1) }},
	{"delete-create", false, func(c *client, path string) { c.delete(path, -1); c.create(path, 0) }},
	{"setACL", false, func(c *client, path string) { c.setACL(path, open, -1) }},
	{"kid", false, func(c *client, path string) { c.create(path+"/k", 0); c.set(path+"/k", -1); c.delete(path+"/k", -1) }},
	{"grandkid", false, func(c *client, path string) {
		c.create(path+"/k", 0)
		c.create(path+"/k/g", flagEphemeral)
		c.set(path+"/k/g", -1)
		c.delete(path+"/k/g", -1)
	}},
	{"sibling", false, func(c *client, path string) { c.create(path+"more", 0); c.set(path+"more", -1) }},
	{"failure", false, func(c *client, path string) { c.set(path, 9); c.delete(path, 9); c.create(path, 0) }},
	{"multi", false, func(c *client, path string) {
		c.multi("m", mSet(path, -1), mCreate(path+"/k", 0), mDelete(path+"/k", -1))
	}},
}

func watchCases() []script {
	var all []script
	for name, watch := range watches {
		for _, ch := range changes {
			all = append(all, script{"watch-" + name + "-" + ch.name, func(p *player) {
				a, b := p.join("a", 30000), p.join("b", 30000)
				if !ch.absent {
					a.create(p.casePath("/n"), 0)
				}
				watch(b, p.casePath("/n"))
				watch(a, p.casePath("/n")) // the writer's own events come before its replies
				ch.run(a, p.casePath("/n"))
				b.readEvents()
			}})
		}
		all = append(all, script{"watch-" + name + "-session-end", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/n"), flagEphemeral)
			watch(b, p.casePath("/n"))
			a.close()
			b.readEvents()
		}})
		all = append(all, script{"watch-" + name + "-own-session-end", func(p *player) {
			a := p.join("a", 30000)
			a.create(p.casePath("/n"), flagEphemeral)
			watch(a, p.casePath("/n"))
			a.logRequest("close", opClose, nil)
		}})
		all = append(all, script{"watch-unreadable-" + name, func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.auth("digest", "bob:pw")
			a.create(p.casePath("/n"), 0)
			watch(b, p.casePath("/n"))
			a.setACL(p.casePath("/n"), []acl{{30, "world", "anyone"}, {31, "auth", ""}}, -1)
			a.set(p.casePath("/n"), -1)
			b.readEvents()
			a.delete(p.casePath("/n"), -1)
			b.readEvents()
		}})
		for _, kind := range []int32{1, 2, 3, 4, 5, 6, 0} {
			all = append(all, script{fmt.Sprintf("watch-remove-%s-%d", name, kind), func(p *player) {
				a, b := p.join("a", 30000), p.join("b", 30000)
				a.create(p.casePath("/n"), 0)
				watch(b, p.casePath("/n"))
				for _, k := range []int32{1, 2, 3} {
					b.checkWatches(p.casePath("/n"), k)
				}
				b.removeWatches(p.casePath("/n"), kind)
				b.removeWatches(p.casePath("/n"), kind)
				a.set(p.casePath("/n"), -1)
				a.create(p.casePath("/n/k"), 0)
				a.set(p.casePath("/n/k"), -1)
				b.readEvents()
			}})
		}
	}
	return append(all,
		script{"watch-modes", func(p *player) {
			c := p.join("a", 30000)
			for _, mode := range []int32{-1, 0, 1, 2, 9} {
				c.addWatch(p.casePath("/n"), mode)
				if c.closed {
					return
				}
			}
			c.addWatch("bad", 0)
		}},
		script{"watch-remove-none", func(p *player) {
			c := p.join("a", 30000)
			for _, kind := range []int32{1, 2, 3, 9} {
				c.removeWatches(p.casePath("/none"), kind)
				c.checkWatches(p.casePath("/none"), kind)
			}
			c.exists(p.casePath("/none"), true)
			for _, kind := range []int32{1, 2, 3} {
				c.checkWatches(p.casePath("/none"), kind)
			}
		}},
		script{"watch-fires-once", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/n"), 0)
			for range 3 {
				b.get(p.casePath("/n"), true)
				b.exists(p.casePath("/n"), true)
			}
			a.set(p.casePath("/n"), -1)
			a.set(p.casePath("/n"), -1)
			b.readEvents()
		}},
		script{"watch-of-the-root", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			b.addWatch("/", 1)
			b.addWatch("/", 0)
			a.create(p.casePath("/n"), 0)
			a.create("/top-"+p.root[1:], flagEphemeral)
			b.readEvents()
		}},
		script{"watch-recursive-in-recursive", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			b.addWatch(p.casePath(""), 1)
			b.addWatch(p.casePath("/n"), 1)
			b.addWatch(p.casePath("/n/k"), 0)
			a.create(p.casePath("/n"), 0)
			a.create(p.casePath("/n/k"), 0)
			a.set(p.casePath("/n/k"), -1)
			b.readEvents()
			b.removeWatches(p.casePath(""), 3)
			a.set(p.casePath("/n/k"), -1)
			b.readEvents()
		}},
		script{"watch-of-one-change-over-kinds", func(p *player) {
			a, b := p.join("a", 30000), p.join("b", 30000)
			a.create(p.casePath("/n"), 0)
			b.addWatch(p.casePath("/n"), 0)
			b.get(p.casePath("/n"), true) // a persistent watch survives the firing of this watch
			b.addWatch(p.casePath("/n"), 1)
			a.set(p.casePath("/n"), -1)
			a.set(p.casePath("/n"), -1)
			a.create(p.casePath("/n/k"), 0)
			b.readEvents()
		}},
	)
}

// restoreCases test the events for missed changes after a reconnect, for each
// list of setWatches.
func restoreCases() []script {
	var all []script
	for i, kind := range []string{"data", "exist", "child", "persistent", "recursive"} {
		for _, ch := range changes {
			for _, stale := range []bool{false, true} {
				all = append(all, script{fmt.Sprintf("restore-%s-%s-%t", kind, ch.name, stale), func(p *player) {
					a, b := p.join("a", 30000), p.join("b", 30000)
					if !ch.absent {
						a.create(p.casePath("/n"), 0)
					}
					b.exists(p.casePath("/n"), false)
					seen := b.seen
					b.dropConnection()
					ch.run(a, p.casePath("/n"))
					if !stale {
						seen = a.seen // as if the client had seen the change
					}
					b2 := b.attachAgain(nil)
					lists := make([][]string, 5)
					lists[i] = []string{p.casePath("/n")}
					if i < 3 {
						lists = lists[:3]
					}
					b2.restoreWatches(seen, lists...)
					b2.readEvents()
					// These writes fire the remaining watches.
					a.create(p.casePath("/n"), 0)
					a.set(p.casePath("/n"), -1)
					a.create(p.casePath("/n/late"), 0)
					b2.readEvents()
				}})
			}
		}
	}
	return append(all, script{"restore-many-in-order", func(p *player) {
		a, b := p.join("a", 30000), p.join("b", 30000)
		for _, n := range []string{"/a", "/b", "/c"} {
			a.create(p.casePath(n), 0)
		}
		b.exists(p.root, false)
		seen := b.seen
		b.dropConnection()
		a.set(p.casePath("/a"), -1)
		a.delete(p.casePath("/b"), -1)
		a.create(p.casePath("/c/k"), 0)
		a.create(p.casePath("/d"), 0)
		b2 := b.attachAgain(nil)
		abc := []string{p.casePath("/c"), p.casePath("/b"), p.casePath("/a")}
		b2.restoreWatches(seen, abc, []string{p.casePath("/d")}, abc, []string{p.casePath("/a")}, []string{p.root})
		b2.readEvents()
	}})
}
