package zktest

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/zktest/internal/tree"
)

// Mark is a state for [Server.RollBack] to go back to.
type Mark struct{ tree *tree.Tree }

// Mark remembers the committed state.
func (s *Server) Mark() (Mark, error) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	leader := s.world.Leader()
	if leader == nil {
		return Mark{}, errors.New("zktest: mark: no leader")
	}
	return Mark{leader.Backup()}, nil
}

// RollBack stops all servers and starts them again without the writes committed
// after m: znodes, sessions and changes are lost although clients know them to
// be committed. A correct ensemble never rolls back. Defective releases do, if
// several servers crash while synchronizing (ZOOKEEPER-4643, -4646, -4685,
// -4785), and so do operators restoring a backup. In an ensemble the next epoch
// is higher than all before. A single server has no epoch, and refuses clients
// with a newer zxid than its own.
func (s *Server) RollBack(m Mark) error {
	s.mustBeStarted()
	for i := 1; i <= s.world.Len(); i++ {
		if err := s.Stop(i); err != nil {
			return err
		}
	}
	s.mu.Lock()
	for i := 1; i <= s.world.Len(); i++ {
		s.world.Node(i).RollBack(m.tree)
	}
	s.mu.Unlock()
	for i := 1; i <= s.world.Len(); i++ {
		if err := s.Restart(i); err != nil {
			return err
		}
	}
	return nil
}
