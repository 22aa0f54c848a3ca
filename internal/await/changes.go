package await

// Changes wakes the readers that wait for a change of a value. The zero value is ready.
// The mutex that guards the value also guards its Changes.
type Changes struct {
	next chan struct{} // nil without a reader since the last change
}

// Next returns a channel that the next Announce closes. A reader that takes the channel and
// the value under one lock misses no change.
func (c *Changes) Next() <-chan struct{} {
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Announce wakes all readers that have called Next since the last change.
func (c *Changes) Announce() {
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}
