package session

import (
	"fmt"
	"math/bits"
)

// setMaking notes the session that is being made, nil if none is any more.
func (c *Client) setMaking(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making = s
}

// explainNoConnection adds to err why there is no connection: how the last attempt to get one has
// failed. That is text only: the end of such an attempt is not the end of a context.
func (c *Client) explainNoConnection(err error) error {
	c.mu.Lock()
	s := c.session
	if c.making != nil {
		s = c.making
	}
	c.mu.Unlock()
	if s == nil {
		return err
	}
	return s.explainNoConnection(err)
}

// explainNoConnection is Client.why for the connection of this session.
func (s *Session) explainNoConnection(err error) error {
	failure := s.link.Failure()
	if failure == nil {
		return err
	}
	return fmt.Errorf("%w (last attempt to connect: %v)", err, failure) //nolint:errorlint // see above
}

// quietRounds is how many rounds of all servers fail before that is logged: about a
// second, in which a server is restarted, or another one found.
const quietRounds = 4

// logFailing logs that all servers were tried rounds times, less and less often.
func (s *Session) logFailing(rounds int) {
	if rounds < quietRounds || bits.OnesCount(uint(rounds)) != 1 {
		return
	}
	s.log.Warn("zookeeper cannot be reached", "attempts", rounds, "cause", s.link.Failure())
}
