package conformance

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// player plays a case to one server and records the replies.
type player struct {
	t    testing.TB
	addr string
	root string // each case has a tree of its own
	base int64  // transaction that created the root
	// clients in the order of their creation.
	clients []*client
	owners  map[int64]string
	lines   []string
	// open are the granted, unclosed sessions, with their passwords.
	open map[int64][]byte
}

// client is a session, over one connection after another.
type client struct {
	p      *player
	name   string
	w      *wire
	xid    int32
	seen   int64 // newest transaction id in a reply
	lines  []string
	closed bool
}

// playCase runs a case and returns its transcript: for each client the received
// frames, in order.
func playCase(t testing.TB, addr, name string, script func(p *player)) []string {
	t.Helper()
	p := &player{t: t, addr: addr, root: "/" + name, owners: map[int64]string{}, open: map[int64][]byte{}}
	admin := p.joinQuietly("admin")
	f, err := admin.exchangeFrames(opCreate, body{}.str(p.root).data(nil).acl(open).int(0))
	require.NoError(t, err)
	require.Zero(t, f.err, "create %s", p.root)
	p.base = f.zxid
	admin.lines = nil
	script(p)
	var out []string
	for _, c := range p.clients {
		if c == admin {
			continue
		}
		if !c.closed {
			c.readEvents()
			c.close()
		}
		out = append(out, c.lines...)
	}
	p.closeSessions(admin.w.sid)
	admin.deleteTree(p.root)
	admin.close()
	return append(out, p.lines...)
}

// closeSessions closes the sessions without a connection. Otherwise these sessions would
// expire during another case and shift its transaction ids.
func (p *player) closeSessions(except int64) {
	for _, c := range p.clients {
		passwd, ok := p.open[c.w.sid]
		if !ok || c.w.sid == except {
			continue
		}
		delete(p.open, c.w.sid)
		w, err := connect(p.addr)
		if err != nil {
			continue
		}
		if _, err := w.handshake(connectRequest(0, 0, 30000, c.w.sid, passwd, true)); err == nil && w.sid != 0 {
			_, _ = (&client{p: p, w: w}).exchangeFrames(opClose, nil)
		}
		_ = w.Close()
	}
}

// deleteTree deletes a tree.
func (c *client) deleteTree(path string) {
	f, err := c.exchangeFrames(opGetChildren, body{}.str(path).bool(false))
	if err != nil || f.err != 0 {
		return
	}
	for _, name := range f.rest.list() {
		c.deleteTree(path + "/" + name)
	}
	_, _ = c.exchangeFrames(opDelete, body{}.str(path).int(-1))
}

// joinQuietly connects a client without a line in the transcript.
func (p *player) joinQuietly(name string) *client {
	p.t.Helper()
	w, err := connect(p.addr)
	require.NoError(p.t, err)
	_, err = w.handshake(connectRequest(0, 0, 30000, 0, make([]byte, 16), true))
	require.NoError(p.t, err)
	require.NotZero(p.t, w.sid)
	c := &client{p: p, name: name, w: w}
	p.clients = append(p.clients, c)
	p.owners[w.sid] = name
	return c
}

// casePath is a path below the case's root.
func (p *player) casePath(path string) string { return p.root + path }

// logNote logs an observation of the case itself.
func (p *player) logNote(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (c *client) logLine(format string, args ...any) {
	line := address.ReplaceAllString(fmt.Sprintf(format, args...), "<address>")
	c.lines = append(c.lines, c.name+" "+line)
}

// exchangeFrames sends a request and reads up to its reply. Frames before the reply are
// events and go into the transcript.
func (c *client) exchangeFrames(op int32, b body) (frame, error) {
	c.xid++
	return c.exchangeAs(c.xid, op, b)
}

func (c *client) exchangeAs(xid, op int32, b body) (frame, error) {
	if err := c.w.send(append(body{}.int(xid).int(op), b...)); err != nil {
		return frame{}, err
	}
	return c.readUntil(xid)
}

func (c *client) readUntil(xid int32) (frame, error) {
	for {
		f, err := c.w.next()
		if err != nil {
			return f, err
		}
		if f.xid == xidEvent {
			kind, state := f.rest.int(), f.rest.int()
			// The transaction id of an event (none, before 3.9) is irrelevant to
			// clients.
			c.logLine("event %d state %d %s err %d rest %d", kind, state, f.rest.str(), f.err, len(f.rest.buf))
			continue
		}
		if f.zxid > c.seen {
			c.seen = f.zxid
		}
		if f.xid != xid {
			return f, fmt.Errorf("reply %d instead of %d", f.xid, xid)
		}
		return f, nil
	}
}

// logRequest sends a request and writes its outcome down.
func (c *client) logRequest(what string, op int32, b body) frame {
	c.xid++
	return c.doAs(c.xid, what, op, b)
}

func (c *client) doAs(xid int32, what string, op int32, b body) frame {
	f, err := c.exchangeAs(xid, op, b)
	if err != nil {
		c.logLine("%s: connection %s", what, describeEnd(err))
		c.closed = true
		return f
	}
	show := fmt.Sprintf("%s: err %d at %s", what, f.err, c.p.relativeZxid(f.zxid))
	r := f.rest
	if f.err == 0 || op == opMulti {
		show += " " + decodeReply(c.p, op, &r)
	}
	if r.err != nil || len(r.buf) > 0 {
		show += fmt.Sprintf(" (left over: %x, %v)", r.buf, r.err)
	}
	c.logLine("%s", show)
	return f
}

// readEvents reads all events sent by the server so far: events come before the
// answer to a ping.
func (c *client) readEvents() {
	if _, err := c.exchangeAs(xidPing, opPing, nil); err != nil {
		c.logLine("settle: connection %s", describeEnd(err))
		c.closed = true
	}
}

// close ends the session.
func (c *client) close() {
	if c.closed {
		return
	}
	c.closed = true
	if _, err := c.exchangeFrames(opClose, nil); err != nil {
		c.logLine("close: connection %s", describeEnd(err))
	} else {
		delete(c.p.open, c.w.sid)
	}
	_ = c.w.Close()
}

// dropConnection loses the connection; the session lives on.
func (c *client) dropConnection() {
	c.closed = true
	_ = c.w.Close()
}

// relativeZxid counts from the start of the case.
func (p *player) relativeZxid(z int64) string {
	switch {
	case z <= 0:
		return fmt.Sprint(z)
	case z <= p.base:
		return "before"
	}
	return fmt.Sprintf("+%d", z-p.base)
}

// describeTime says whether a time in milliseconds is about now.
func describeTime(ms int64) string {
	if d := time.Since(time.UnixMilli(ms)).Abs(); d < time.Minute {
		return "now"
	}
	return fmt.Sprint(ms)
}

func (p *player) ownerName(id int64) string {
	if name, ok := p.owners[id]; ok {
		return name
	}
	return fmt.Sprintf("%#x", uint64(id))
}

func decodeStat(p *player, r *reader) string {
	czxid, mzxid, ctime, mtime := r.long(), r.long(), r.long(), r.long()
	version, cversion, aversion := r.int(), r.int(), r.int()
	owner, length, children, pzxid := r.long(), r.int(), r.int(), r.long()
	return fmt.Sprintf("{c %s m %s p %s ctime %s mtime %s v %d/%d/%d owner %s length %d children %d}",
		p.relativeZxid(czxid), p.relativeZxid(mzxid), p.relativeZxid(pzxid), describeTime(ctime), describeTime(mtime),
		version, cversion, aversion, p.ownerName(owner), length, children)
}

func decodeList(r *reader) string {
	all := r.list()
	slices.Sort(all)
	return "[" + strings.Join(all, " ") + "]"
}

func decodeACL(p *player, r *reader) string {
	n := r.int()
	var all []string
	for i := int32(0); i < n && r.err == nil; i++ {
		all = append(all, fmt.Sprint(r.int(), " ", r.str(), ":", r.str()))
	}
	return fmt.Sprint(all) + decodeStat(p, r)
}

func decodeMulti(p *player, r *reader) string {
	var all []string
	for r.err == nil {
		kind, done, code := r.int(), r.bool(), r.int()
		if done || r.err != nil {
			all = append(all, fmt.Sprintf("end %d %d", kind, code))
			break
		}
		one := fmt.Sprintf("%d:%d", kind, code)
		if kind == -1 {
			one += fmt.Sprintf("=%d", r.int())
		} else {
			one += " " + decodeReply(p, kind, r)
		}
		all = append(all, one)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// address matches addresses, which differ from client to client.
// read only
var address = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`)

func decodeWho(r *reader) string {
	n := r.int()
	var all []string
	for i := int32(0); i < n && r.err == nil; i++ {
		all = append(all, r.str()+":"+r.str())
	}
	// The order depends on the address, and the address differs if the server
	// runs in a container.
	slices.SortStableFunc(all, func(a, b string) int {
		return strings.Compare(a[:strings.IndexByte(a, ':')], b[:strings.IndexByte(b, ':')])
	})
	return fmt.Sprint(all)
}

// decodeReply shows the body of a reply.
func decodeReply(p *player, op int32, r *reader) string {
	switch op {
	case opCreate, opSync:
		return r.str()
	case opCreate2, opContainer, opTTL:
		return r.str() + decodeStat(p, r)
	case opExists, opSetData, opSetACL:
		return decodeStat(p, r)
	case opGetData:
		return fmt.Sprintf("%q", r.str()) + decodeStat(p, r)
	case opGetACL:
		return decodeACL(p, r)
	case opGetChildren, opGetEphemerals:
		return decodeList(r)
	case opGetChildren2:
		return decodeList(r) + decodeStat(p, r)
	case opMulti, opMultiRead:
		return decodeMulti(p, r)
	case opWhoAmI:
		return decodeWho(r)
	case opAllChildren:
		return fmt.Sprint(r.int())
	}
	return ""
}

// randomWants are lines required in random histories; a history without them
// proves little.
// read only
var randomWants = []*regexp.Regexp{
	regexp.MustCompile(`event 1 `), regexp.MustCompile(`event 2 `), regexp.MustCompile(`event 3 `), regexp.MustCompile(`event 4 `),
	regexp.MustCompile(`err -101`), regexp.MustCompile(`err -103`), regexp.MustCompile(`err -110`), regexp.MustCompile(`err -111`),
	regexp.MustCompile(`err -108`), regexp.MustCompile(`err -102`), regexp.MustCompile(`err -8 `), regexp.MustCompile(`setWatches2.*: err 0`),
	regexp.MustCompile(`multi : err 0`), regexp.MustCompile(`multi : .*-1:-\d+=-`), regexp.MustCompile(`create .* [123]: err 0`),
}
