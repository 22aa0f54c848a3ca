package txnlog

import "encoding/binary"

// cursor takes values in ZooKeeper's encoding off the front of a byte slice. The
// first failure sticks: later calls return zero values.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) fail() {
	c.bad = true
	c.b = nil
}

func (c *cursor) readInt32() int32 {
	if len(c.b) < 4 {
		c.fail()
		return 0
	}
	v := int32(binary.BigEndian.Uint32(c.b))
	c.b = c.b[4:]
	return v
}

func (c *cursor) readInt64() int64 {
	if len(c.b) < 8 {
		c.fail()
		return 0
	}
	v := int64(binary.BigEndian.Uint64(c.b))
	c.b = c.b[8:]
	return v
}

func (c *cursor) readBool() bool {
	if len(c.b) < 1 {
		c.fail()
		return false
	}
	v := c.b[0] != 0
	c.b = c.b[1:]
	return v
}

// readBuffer returns a view of the bytes, or nil for null.
func (c *cursor) readBuffer() []byte {
	n := int(c.readInt32())
	if c.bad || n == -1 {
		return nil
	}
	if n < 0 || n > len(c.b) {
		c.fail()
		return nil
	}
	v := c.b[:n:n]
	c.b = c.b[n:]
	return v
}

// readPath returns a znode path. Anything else is a failure.
func (c *cursor) readPath() string {
	p := c.readBuffer()
	if len(p) == 0 || p[0] != '/' {
		c.fail()
		return ""
	}
	return string(p)
}

// readCount returns the number of elements of a vector with at least least bytes
// each; null counts as empty.
func (c *cursor) readCount(least int) int {
	n := int(c.readInt32())
	if c.bad || n == -1 {
		return 0
	}
	if n < 0 || n > len(c.b)/least {
		c.fail()
		return 0
	}
	return n
}

// skipACL skips a vector of permissions, schemes and ids.
func (c *cursor) skipACL() {
	for n := c.readCount(12); n > 0 && !c.bad; n-- {
		c.readInt32()
		c.readBuffer()
		c.readBuffer()
	}
}
