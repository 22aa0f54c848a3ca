package session

import "fmt"

// setMaking notes the session that is being made, nil if none is any more.
func (c *Client) setMaking(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.making = s
}

// explainNoConnection adds to err why there is no connection: how the last attempt to get one has
// failed. That is text only: the end of such an attempt is not the end of a context.
func (c *Client) explainNoConnection(err error) error {
	return explainFailure(err, c.connectFailure())
}

// connectFailure is the error of the last attempt to connect, nil if there was none.
func (c *Client) connectFailure() error {
	c.mu.Lock()
	s := c.session
	if c.making != nil {
		s = c.making
	}
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.link.Failure()
}

// explainNoConnection is Client.explainNoConnection for the connection of this session.
func (s *Session) explainNoConnection(err error) error {
	return explainFailure(err, s.link.Failure())
}

func explainFailure(err, failure error) error {
	if failure == nil {
		return err
	}
	return fmt.Errorf("%w (last attempt to connect: %v)", err, failure) //nolint:errorlint // see above
}
