package conformance

import "fmt"

// join opens a session with a line in the transcript.
func (p *player) join(name string, timeout int32) *client {
	return p.enter(name, connectRequest(0, 0, timeout, 0, make([]byte, 16), true))
}

// enter sends a connect request and logs the granted session.
func (p *player) enter(name string, b body) *client {
	w, err := connect(p.addr)
	if err != nil {
		p.logNote("%s cannot connect", name)
		return &client{p: p, name: name, w: &wire{}, closed: true}
	}
	c := &client{p: p, name: name, w: w}
	p.clients = append(p.clients, c)
	r, err := w.handshake(b)
	if err != nil {
		c.logLine("connect: connection %s", describeEnd(err))
		c.closed = true
		return c
	}
	id := "no session"
	if w.sid != 0 {
		if _, known := p.owners[w.sid]; !known {
			p.owners[w.sid] = name
		}
		id = p.owners[w.sid]
		p.open[w.sid] = w.passwd
	}
	c.logLine("connect: %s, timeout %d, password of %d, rest %d", id, w.timeout, len(w.passwd), len(r.buf))
	return c
}

// attachAgain attaches the client's session to a new connection.
func (c *client) attachAgain(edit func(sid *int64, passwd []byte)) *client {
	sid, passwd := c.w.sid, append([]byte{}, c.w.passwd...)
	if edit != nil {
		edit(&sid, passwd)
	}
	n := c.p.enter(c.name, connectRequest(0, c.seen, c.w.timeout, sid, passwd, true))
	n.seen = c.seen
	return n
}

func (c *client) create(path string, flags int32) frame {
	return c.logRequest(fmt.Sprintf("create %s %d", path, flags), opCreate, createBody(path, "x", flags))
}

func createBody(path, data string, flags int32) body {
	return body{}.str(path).data([]byte(data)).acl(open).int(flags)
}

func (c *client) create2(path string, flags int32) frame {
	return c.logRequest(fmt.Sprintf("create2 %s %d", path, flags), opCreate2, createBody(path, "x", flags))
}

func (c *client) container(path string) frame {
	return c.logRequest("container "+path, opContainer, createBody(path, "x", flagContainer))
}

func (c *client) ttl(path string, flags int32, ttl int64) frame {
	return c.logRequest(fmt.Sprintf("ttl %s %d %d", path, flags, ttl), opTTL, createBody(path, "x", flags).long(ttl))
}

func (c *client) delete(path string, version int32) frame {
	return c.logRequest(fmt.Sprintf("delete %s %d", path, version), opDelete, body{}.str(path).int(version))
}

func (c *client) set(path string, version int32) frame {
	return c.logRequest(fmt.Sprintf("set %s %d", path, version), opSetData, body{}.str(path).data([]byte("yz")).int(version))
}

func (c *client) exists(path string, watch bool) frame {
	return c.logRequest("exists "+path, opExists, body{}.str(path).bool(watch))
}

func (c *client) get(path string, watch bool) frame {
	return c.logRequest("get "+path, opGetData, body{}.str(path).bool(watch))
}

func (c *client) children(path string, watch bool) frame {
	return c.logRequest("children "+path, opGetChildren2, body{}.str(path).bool(watch))
}

func (c *client) children1(path string, watch bool) frame {
	return c.logRequest("children1 "+path, opGetChildren, body{}.str(path).bool(watch))
}

func (c *client) getACL(path string) frame {
	return c.logRequest("getACL "+path, opGetACL, body{}.str(path))
}

func (c *client) setACL(path string, list []acl, version int32) frame {
	return c.logRequest(fmt.Sprint("setACL ", path, list, version), opSetACL, body{}.str(path).acl(list).int(version))
}

func (c *client) auth(scheme, secret string) frame {
	return c.doAs(xidAuth, "auth "+scheme+" "+secret, opAuth, body{}.int(0).str(scheme).data([]byte(secret)))
}

func (c *client) addWatch(path string, mode int32) frame {
	return c.logRequest(fmt.Sprintf("addWatch %s %d", path, mode), opAddWatch, body{}.str(path).int(mode))
}

func (c *client) removeWatches(path string, kind int32) frame {
	return c.logRequest(fmt.Sprintf("removeWatches %s %d", path, kind), opRemoveWatches, body{}.str(path).int(kind))
}

func (c *client) checkWatches(path string, kind int32) frame {
	return c.logRequest(fmt.Sprintf("checkWatches %s %d", path, kind), opCheckWatches, body{}.str(path).int(kind))
}

// restoreWatches sends the watches of an old connection: lists of data, exist, child,
// persistent and recursive watches, and the newest zxid seen by the client.
func (c *client) restoreWatches(seen int64, lists ...[]string) frame {
	op, name := int32(opSetWatches), "setWatches"
	if len(lists) > 3 {
		op, name = opSetWatches2, "setWatches2"
	}
	b := body{}.long(seen)
	for _, l := range lists {
		b = b.list(l)
	}
	return c.doAs(xidSetWatches, fmt.Sprint(name, lists), op, b)
}

// part is one operation of a transaction.
type part struct {
	op   int32
	body body
}

func (c *client) multi(name string, parts ...part) frame {
	return c.logRequest("multi "+name, opMulti, multiBody(parts))
}

func multiBody(parts []part) body {
	var b body
	for _, p := range parts {
		b = append(b.int(p.op).bool(false).int(-1), p.body...)
	}
	return b.int(-1).bool(true).int(-1)
}

func mCreate(path string, flags int32) part { return part{opCreate, createBody(path, "x", flags)} }
func mCreate2(path string) part             { return part{opCreate2, createBody(path, "x", 0)} }
func mDelete(path string, v int32) part     { return part{opDelete, body{}.str(path).int(v)} }
func mCheck(path string, v int32) part      { return part{opCheck, body{}.str(path).int(v)} }
func mSet(path string, v int32) part {
	return part{opSetData, body{}.str(path).data([]byte("new")).int(v)}
}
