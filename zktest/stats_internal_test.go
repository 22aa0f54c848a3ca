package zktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

func TestStatisticsOfEndedSessionsAreBounded(t *testing.T) {
	inLazy(t, 1, func(t *testing.T, s *Server, l *lazy) {
		live := s.Sessions()[0].ID
		count := func(session int64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			c := &conn{s: s, core: &ensemble.Conn{}, claims: session}
			s.countLocked(c, "connect", &proto.Request{})
		}
		count(live)
		for id := int64(1); id <= 5*endedKept; id++ {
			count(id)
		}
		by := s.Stats().BySession
		require.LessOrEqual(t, len(by), 2*endedKept+2)
		require.True(t, by[live] != nil, "live sessions stay")
		for id := int64(4*endedKept + 1); id <= 5*endedKept; id++ {
			require.True(t, by[id] != nil, "the latest stay")
		}
		require.Equal(t, 5*endedKept+2, s.Stats().Requests["connect"], "the sums stay")
	})
}
