package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// State is what a path tells of a [Barrier] or a [Double].
type State struct {
	// Exists reports whether the path exists.
	Exists bool
	// Double is true for a path of a [Double].
	Double bool
	// Parties is the number of parties; 0 as long as no party has come.
	Parties int
	// Round is the number of rounds so far.
	Round int64
	// Present are the parties that wait or are inside, in the order of arrival.
	Present []Party
}

// StateAt reads the barrier on path, whichever of the two it is, with two reads and a list of
// the parties; the parties may come and go meanwhile. The path of another recipe is refused
// with an error that wraps ErrRecord; one that does not exist has the zero State. The result
// precedes the call if the server lags behind.
func StateAt(ctx context.Context, client *session.Client, path string) (State, error) {
	const op = "read"
	m := &core{client: client, path: path, constructor: "barrier.StateAt", err: validatePlace(client, path)}
	if err := m.checkCall(ctx); err != nil {
		return State{}, failure(ctx, op, path, err)
	}
	var state State
	if err := client.Retry(ctx, func(s *session.Session) (err error) {
		state, err = m.readState(ctx, s)
		return err
	}); err != nil {
		return State{}, failure(ctx, op, path, err)
	}
	return state, nil
}

func (m *core) readState(ctx context.Context, s *session.Session) (State, error) {
	data, _, err := s.Get(ctx, m.path)
	switch {
	case errors.Is(err, session.ErrNoNode):
		return State{}, nil
	case err != nil:
		return State{}, err
	case len(data) == 0:
		return State{Exists: true}, nil // the first party creates the path, and then the record
	}
	r, err := parseRecord(data)
	if err != nil {
		return State{}, err
	}
	m.kind, m.parties = r.Kind, r.Parties
	out := State{Exists: true, Double: r.Kind == kindDouble, Parties: r.Parties, Round: r.Round}
	out.Present, err = m.listWaiting(ctx, s)
	return out, err
}
