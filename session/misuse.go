package session

import "context"

// The functions of this file panic, as package context does for a nil context: with the
// name of the mistake, instead of a nil dereference somewhere below, a wait that never
// ends or a session id of 0. They are inlined, and cost a comparison or two.

// mustHaveContext is the first check of a method that takes a context.
func mustHaveContext(ctx context.Context) {
	if ctx == nil {
		panic("session: the context is nil")
	}
}

// mustHaveFunction is checked at the call: the function may run elsewhere.
func mustHaveFunction(given bool) {
	if !given {
		panic("session: the function is nil")
	}
}

func (c *Client) mustBeMade() {
	if c == nil || c.states == nil {
		panic("session: a nil or zero Client is not connected: get one from session.Connect")
	}
}

func (c *Client) mustBeUsable(ctx context.Context) {
	mustHaveContext(ctx)
	c.mustBeMade()
}

func (s *Session) mustBeMade() {
	if s == nil || s.link == nil {
		panic("session: a nil or zero Session does not exist at the servers: get one from Client.Session")
	}
}

func (s *Session) mustBeUsable(ctx context.Context) {
	mustHaveContext(ctx)
	s.mustBeMade()
}

func (h *Hold) mustBeMade() {
	if h == nil || h.s == nil {
		panic("session: a nil or zero Hold holds nothing: get one from Session.Hold")
	}
}

func (w *Watch) mustBeMade() {
	if w == nil || w.set == nil {
		panic("session: a nil or zero Watch watches nothing: get one from Session.GetW, ExistsW or ChildrenW, if the error is nil")
	}
}

func (sub *Subscription) mustBeMade() {
	if sub == nil || sub.set == nil {
		panic("session: a nil or zero Subscription watches nothing: get one from Session.Subscribe")
	}
}

func (f *Future[T]) mustBeMade() {
	if f == nil || f.done == nil {
		panic("session: a nil or zero Future has no request: get one from a Start method of Session")
	}
}

func (c *Creation) mustBeMade() {
	if c == nil || c.s == nil {
		panic("session: a nil or zero Creation has no request: get one from Session.StartProtected")
	}
}
