package optimistic

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// firstBatch is small, so that large data in few znodes does not come all at once.
	firstBatch = 8
	maxBatch   = 128
	batchBytes = 256 << 10 // of a reply, as far as the data read so far tells
)

// BatchSize is how many znodes the next request of a reader reads: few at first, and then as
// many as a reply of 256 KiB has room for, at most 128. The zero value is ready for use.
type BatchSize struct {
	// First is the size of the first request; default 8.
	First int
	// Alone: each request reads one znode, since the servers, or the client, refuse
	// requests for several.
	Alone bool
	size  int
}

// Next is the number of znodes of the next request.
func (b *BatchSize) Next() int {
	switch {
	case b.Alone:
		return 1
	case b.size > 0:
		return b.size
	case b.First > 0:
		return b.First
	}
	return firstBatch
}

// Learn adapts the size to the reply to a request. It reports whether a batch was refused: the
// reply was longer than the client accepts, or the servers do not know the request. The
// connection is lost then, and Alone is true from now on.
func (b *BatchSize) Learn(batch bool, results []session.Result, err error) (refused bool) {
	if err != nil {
		refused = batch && (errors.Is(err, session.ErrReplyTooLarge) || errors.Is(err, session.ErrUnsupported))
		b.Alone = b.Alone || refused
		return refused
	}
	longest := 1
	for _, one := range results {
		longest = max(longest, len(one.Data))
	}
	b.size = max(1, min(2*b.Next(), batchBytes/longest, maxBatch))
	return false
}

// StartReads reads the data of znodes with one request, and calls then with a result for each
// path, or with the error of the request.
func StartReads(s *session.Session, paths []string, then func([]session.Result, error)) {
	if len(paths) != 1 {
		s.StartGets(paths...).Then(then)
		return
	}
	s.StartGet(paths[0], false).Then(func(seen session.Seen, err error) {
		one := session.Result{Data: seen.Data, Stat: seen.Stat}
		if errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrNoAuth) {
			one.Err, err = err, nil
		}
		then([]session.Result{one}, err)
	})
}
