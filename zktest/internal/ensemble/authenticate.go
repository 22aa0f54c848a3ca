package ensemble

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/digestmd5"
	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

func (c *Conn) authenticate(q *proto.Request, reply func([]byte)) {
	if q.BadBody { // Apache's server fails to read the request and sends no answer
		c.Close()
		return
	}
	if q.Scheme != "digest" && q.Scheme != "ip" {
		reply(proto.EncodeReply(q.Xid, 0, proto.AuthFailed, nil))
		c.Close()
		return
	}
	if q.Scheme == "digest" {
		id := proto.ID{Scheme: "digest", ID: tree.Digest(string(q.Data))}
		c.ids = withIdentity(c.ids, id)
	}
	reply(proto.EncodeReply(q.Xid, 0, proto.OK, nil))
}

// authenticateSASL answers a token of SASL.
func (c *Conn) authenticateSASL(q *proto.Request, reply func([]byte)) {
	answer := func(token []byte) {
		var w jute.Writer
		w.Buffer(token)
		reply(proto.EncodeReply(q.Xid, 0, proto.OK, w.Bytes()))
	}
	users := c.node.w.cfg.SASLUsers
	if users == nil { // without a login module ZooKeeper answers with a null token
		answer(nil)
		return
	}
	if c.sasl == nil {
		c.sasl = digestmd5.NewServer(func(user string) (string, bool) {
			password, ok := users[user]
			return password, ok
		})
	}
	token, user, err := c.sasl.Step(q.Data)
	if err != nil {
		code := proto.AuthFailed
		if slices.Contains(c.node.w.cfg.EnforceAuth, "sasl") {
			code = proto.AuthRequired
		}
		var none jute.Writer
		none.Buffer(nil)
		reply(proto.EncodeReply(q.Xid, 0, code, none.Bytes()))
		c.Close()
		return
	}
	if user != "" {
		c.ids = withIdentity(c.ids, proto.ID{Scheme: "sasl", ID: user})
	}
	answer(token)
}

// mayAsk reports whether the client has authenticated as the server demands.
func (c *Conn) mayAsk() bool {
	schemes := c.node.w.cfg.EnforceAuth
	return len(schemes) == 0 || slices.ContainsFunc(c.ids, func(id proto.ID) bool { return slices.Contains(schemes, id.Scheme) })
}
