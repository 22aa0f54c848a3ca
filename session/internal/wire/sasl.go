package wire

import (
	"context"
	"errors"
	"fmt"
)

// Mechanism is the client's side of the authentication of one connection by SASL.
type Mechanism interface {
	// Start returns the first token, which may be empty.
	Start() []byte
	// Step answers a token of the server; nil: the authentication is complete.
	Step(token []byte) ([]byte, error)
}

// beginSASL gets the mechanism, before the handshake: a server must not make a session, or
// keep one, for a client that has nothing to authenticate with. An error ends the connection,
// and not the link: it may be the network's.
func (c *conn) beginSASL() (err error) {
	if c.link.cfg.SASL == nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(c.link.ctx, c.handshakeEnd)
	defer cancel()
	if c.mechanism, err = c.link.cfg.SASL(ctx); err == nil && c.mechanism == nil {
		err = errors.New("there is no mechanism") // nothing may be sent without authentication
	}
	if err != nil {
		return fmt.Errorf("wire: SASL: %w", err)
	}
	return nil
}

// authenticate runs the link's SASL on a connection that has got its session, before
// anything else is sent. It has what is left of the time of the handshake. An error that is
// not the server's verdict ends the connection, and not the link, too.
func (c *conn) authenticate() error {
	if c.mechanism == nil {
		return nil
	}
	c.authenticating = true
	defer func() { c.authenticating = false }()
	for token := c.mechanism.Start(); token != nil; {
		answer, err := c.exchangeToken(token)
		if err == nil {
			token, err = c.mechanism.Step(answer)
		}
		if err != nil {
			return fmt.Errorf("wire: SASL: %w", err)
		}
	}
	return nil
}

// exchangeToken sends a token to the server, and returns the server's.
func (c *conn) exchangeToken(token []byte) ([]byte, error) {
	c.link.mu.Lock()
	xid := c.machine.takeXid()
	frame := c.machine.appendFrame(nil, xid, OpSASL, func(e *Encoder) { e.Bytes(token) })
	c.link.mu.Unlock()
	if _, err := c.raw.Write(frame); err != nil {
		return nil, err
	}
	in, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	d := NewDecoder(in)
	got, _, code := d.Int32(), d.Int64(), d.Int32()
	switch {
	case d.Err() != nil:
		return nil, d.Err()
	case code == CodeAuthFailed, code == CodeAuthRequired: // the latter if the server demands SASL
		return nil, ErrAuthFailed
	case got != xid:
		return nil, fmt.Errorf("%w: answer %#x in the authentication", errProtocol, got)
	case code != CodeOK:
		return nil, fmt.Errorf("server error %d", code)
	}
	answer := d.Bytes()
	return answer, d.Err()
}
