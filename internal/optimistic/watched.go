package optimistic

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// GetWatched reads a znode and sets a watch for its next change, whether the znode exists
// or not: the watch of a missing znode fires with the creation. Without an error, Watch is
// set.
func GetWatched(ctx context.Context, s *session.Session, path string) (session.Seen, error) {
	for {
		data, stat, w, err := s.GetW(ctx, path)
		if err == nil {
			return session.Seen{Data: data, Stat: stat, Exists: true, Watch: w}, nil
		}
		if !errors.Is(err, session.ErrNoNode) {
			return session.Seen{}, err
		}
		// A read of data sets no watch on a missing znode.
		_, created, w, err := s.ExistsW(ctx, path)
		if err != nil {
			return session.Seen{}, err
		}
		if !created {
			return session.Seen{Watch: w}, nil
		}
		w.Stop() // created between the two reads
	}
}

// ReadFresh is [session.Session.ReadFresh] for a read that may end with an answer as its
// error, such as "no such job": isAnswer reports whether an error is an answer. Answers are
// fresh too, and an answer is returned only once a server has proved that it is not stale.
func ReadFresh(ctx context.Context, s *session.Session, path string, isAnswer func(error) bool, read func() error) error {
	var answer error
	err := s.ReadFresh(ctx, path, func() error {
		if answer = read(); isAnswer(answer) {
			return nil // the proof decides
		}
		return answer
	})
	if err != nil {
		return err
	}
	return answer
}
