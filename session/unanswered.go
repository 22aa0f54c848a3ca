package session

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// unanswered is a connection whose server has not answered yet, until it has. Until then the
// connection explains its errors: what ends a connection so early is seldom the network.
type unanswered struct {
	net.Conn

	explain func(error) error
	overTLS bool
	// answered is written by the reading goroutine before anything but the handshake is
	// written.
	answered bool
}

// newUnanswered is for a connection without TLS to a server, as users see it.
func newUnanswered(raw net.Conn, shown string) *unanswered {
	return &unanswered{Conn: raw, explain: func(err error) error {
		switch {
		case errors.Is(err, errTLSAlert):
			return fmt.Errorf("%s: %w: connect with TLS", shown, err)
		case isClosed(err):
			return fmt.Errorf("%s closed the connection instead of answering: %w (the server may have no quorum; if the port expects TLS, connect with TLS)", shown, err)
		}
		return fmt.Errorf("%s has not answered: %w", shown, err)
	}}
}

var errTLSAlert = errors.New("the server expects TLS at this port")

func (u *unanswered) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	switch {
	case u.answered:
	case n > 0 && !u.overTLS && isTLSAlert(b[:n]):
		return 0, u.explain(errTLSAlert)
	case n > 0:
		u.answered = true
	case err != nil:
		err = u.explain(err)
	}
	return n, err
}

// Write returns the error of the reading end if the server has closed the connection: it may
// have said why, by an alert of TLS.
func (u *unanswered) Write(b []byte) (int, error) {
	n, err := u.Conn.Write(b)
	if err == nil || u.answered {
		return n, err
	}
	if u.overTLS && u.SetReadDeadline(time.Now().Add(alertTime)) == nil {
		_, alert := u.Conn.Read(make([]byte, 1))
		if _, ok := alertOf(alert); ok {
			err = alert
		}
	}
	return n, u.explain(err)
}

// alertTime bounds the wait for an alert that has arrived already, if there is one.
const alertTime = 100 * time.Millisecond

// isTLSAlert reports whether a server without TLS could not have sent these first bytes: they
// would be the length of a reply of 335 MiB.
func isTLSAlert(b []byte) bool { return len(b) >= 2 && b[0] == 21 && b[1] == 3 }

// isClosed reports whether the other end has closed a connection.
func isClosed(err error) bool {
	var network *net.OpError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return true
	case errors.As(err, &network):
		return (network.Op == "read" || network.Op == "write") && !network.Timeout() && !errors.Is(err, net.ErrClosed)
	}
	return false
}
