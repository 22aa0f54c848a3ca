package txnlog

import "time"

const (
	txnHeaderSize = 32 // session, cxid, zxid, time, type
	digestSize    = 12 // version, digest of the tree
)

// decodePayload decodes the bytes below a record's checksum into t, and reports
// whether they are a known record, whole and without a remainder. The data and
// the content of t are views of payload.
func decodePayload(payload []byte, t *Txn) bool {
	c := cursor{b: payload}
	t.Session = c.readInt64()
	t.Cxid = c.readInt32()
	t.Zxid = Zxid(c.readInt64())
	t.Time = time.UnixMilli(c.readInt64())
	t.Type = Type(c.readInt32())
	t.Changes, t.Err, t.failed, t.PathsKnown, t.Digest = t.Changes[:0], 0, false, false, Digest{}
	switch t.Type {
	case TypeMulti:
		decodeMulti(&c, t)
	case TypeCloseSession:
		decodeCloseSession(&c, t)
	case TypeError:
		t.Err, t.failed = c.readInt32(), true
	default:
		decodeChange(&c, t.Type, t)
	}
	if c.bad {
		return false
	}
	t.content = payload[:len(payload)-len(c.b)]
	if len(c.b) == digestSize {
		t.Digest = Digest{Version: c.readInt32(), Tree: c.readInt64()}
	}
	return len(c.b) == 0
}

// decodeChange appends one change. A record of type TypeCreate may end before
// the parent's cversion (CreateTxnV0).
func decodeChange(c *cursor, typ Type, t *Txn) {
	ch := Change{Type: typ}
	switch typ {
	case TypeCreate, TypeCreate2:
		decodeCreate(c, &ch)
		if c.readBool() {
			ch.Owner = Owner(t.Session)
		}
		if typ == TypeCreate && !c.bad && len(c.b) == 0 {
			ch.ParentCversion = -1
		} else {
			ch.ParentCversion = c.readInt32()
		}
	case TypeCreateContainer:
		decodeCreate(c, &ch)
		ch.ParentCversion, ch.Owner = c.readInt32(), containerOwner
	case TypeCreateTTL:
		decodeCreate(c, &ch)
		ch.ParentCversion, ch.Owner = c.readInt32(), ttlOwner(c.readInt64())
	case TypeDelete, TypeDeleteContainer:
		ch.Path = c.readPath()
	case TypeSetData, TypeReconfig:
		ch.Path, ch.Data, ch.Version = c.readPath(), c.readBuffer(), c.readInt32()
	case TypeCheck:
		ch.Path, ch.Version = c.readPath(), c.readInt32()
	case TypeSetACL:
		ch.Path = c.readPath()
		c.skipACL()
		ch.Version = c.readInt32()
	case TypeCreateSession:
		ch.Timeout = time.Duration(c.readInt32()) * time.Millisecond
	case TypeError:
		ch.Err = c.readInt32()
	default:
		c.fail()
	}
	if !c.bad {
		t.Changes = append(t.Changes, ch)
	}
}

func decodeCreate(c *cursor, ch *Change) {
	ch.Path, ch.Data = c.readPath(), c.readBuffer()
	c.skipACL()
}

// decodeMulti appends the changes of all parts.
func decodeMulti(c *cursor, t *Txn) {
	for n := c.readCount(8); n > 0 && !c.bad; n-- {
		typ := Type(c.readInt32())
		part := cursor{b: c.readBuffer()}
		switch typ {
		case TypeMulti, TypeCloseSession, TypeCreateSession, TypeReconfig:
			c.fail() // servers write no such parts
			return
		}
		decodeChange(&part, typ, t)
		if part.bad || len(part.b) > 0 {
			c.fail()
			return
		}
		if typ == TypeError {
			t.failed = true
			if err := t.Changes[len(t.Changes)-1].Err; t.Err == 0 {
				t.Err = err
			}
		}
	}
}

// decodeCloseSession appends the end of the session and the deleted paths.
// Without the list of paths, which servers before 3.6 and servers with
// closeSessionTxn.enabled=false leave out, the record is empty, and only a digest
// may follow. A digest cannot pass for a list: its version would be the number of
// paths, and its eight other bytes hold no two paths.
func decodeCloseSession(c *cursor, t *Txn) {
	t.Changes = append(t.Changes, Change{Type: TypeCloseSession})
	if len(c.b) == 0 {
		return
	}
	list := *c
	for n := list.readCount(5); n > 0 && !list.bad; n-- {
		ch := Change{Type: TypeDelete, Path: list.readPath()}
		if !list.bad {
			t.Changes = append(t.Changes, ch)
		}
	}
	if !list.bad && (len(list.b) == 0 || len(list.b) == digestSize) {
		*c = list
		t.PathsKnown = true
		return
	}
	t.Changes = t.Changes[:1]
	if len(c.b) != digestSize {
		c.fail()
	}
}
