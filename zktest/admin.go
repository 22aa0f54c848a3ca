package zktest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// Errors of the administrator's methods.
var (
	ErrNoNode     = errors.New("no such node")
	ErrNodeExists = errors.New("node exists")
	ErrNotEmpty   = errors.New("node has children")
	ErrNoLeader   = errors.New("no leader")
)

// Node is a znode as the administrator sees it. The fields are those of
// ZooKeeper's Stat; times are milliseconds since 1970.
type Node struct {
	Path                        string
	Data                        []byte
	Czxid, Mzxid, Pzxid         int64
	Ctime, Mtime                int64
	Version, Cversion, Aversion int32
	EphemeralOwner              int64
	NumChildren                 int32
	// Container and TTL tell the kind of node; Stat does not.
	Container, TTL bool
}

func (s *Server) adminRequest(what string, q *proto.Request) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	res, err := s.world.Admin(q)
	s.nudgeLocked()
	if err != nil {
		return "", adminError(what, q.Path, err)
	}
	return res.Path, nil
}

func adminError(what, path string, err error) error {
	var code ensemble.CodeError
	switch {
	case errors.Is(err, ensemble.ErrNoLeader):
		err = ErrNoLeader
	case errors.As(err, &code) && proto.Code(code) == proto.NoNode:
		err = ErrNoNode
	case errors.As(err, &code) && proto.Code(code) == proto.NodeExists:
		err = ErrNodeExists
	case errors.As(err, &code) && proto.Code(code) == proto.NotEmpty:
		err = ErrNotEmpty
	}
	return fmt.Errorf("zktest: %s %s: %w", what, path, err)
}

// Create makes a persistent node without a session. The parent must exist.
func (s *Server) Create(path string, data []byte) error {
	s.mustBeStarted()
	_, err := s.adminRequest("create", &proto.Request{Op: proto.OpCreate, Path: path, Data: data, ACL: proto.WorldACL()})
	return err
}

// CreateSequential makes a persistent sequential node and returns its path.
func (s *Server) CreateSequential(prefix string, data []byte) (string, error) {
	s.mustBeStarted()
	return s.adminRequest("create", &proto.Request{
		Op: proto.OpCreate, Path: prefix, Data: data, ACL: proto.WorldACL(), Flags: proto.FlagPersistentSequential,
	})
}

// Set changes a node's data, whatever its version.
func (s *Server) Set(path string, data []byte) error {
	s.mustBeStarted()
	_, err := s.adminRequest("set", &proto.Request{Op: proto.OpSetData, Path: path, Data: data, Version: -1})
	return err
}

// Delete deletes a node without children, whatever its version.
func (s *Server) Delete(path string) error {
	s.mustBeStarted()
	_, err := s.adminRequest("delete", &proto.Request{Op: proto.OpDelete, Path: path, Version: -1})
	return err
}

// DeleteAll deletes a node and its descendants, as an administrator's deleteall
// does, but atomically: no client can create a descendant in between. Clients
// see the deletions one after the other.
func (s *Server) DeleteAll(path string) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.nudgeLocked()
	return s.deleteAllLocked(path)
}

func (s *Server) deleteAllLocked(path string) error {
	if t := s.adminNodeLocked().Tree(); t.Get(path) != nil {
		for _, name := range t.SortedChildren(t.Get(path)) {
			if err := s.deleteAllLocked(path + "/" + name); err != nil {
				return err
			}
		}
	}
	if _, err := s.world.Admin(&proto.Request{Op: proto.OpDelete, Path: path, Version: -1}); err != nil {
		return adminError("delete", path, err)
	}
	return nil
}

// SetSequence sets the number that the next sequential child of parent gets,
// for instance 2147483645, which is near the end, or a negative one.
func (s *Server) SetSequence(parent string, next int32) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.world.SetSequence(parent, next)
	s.nudgeLocked()
	if err != nil {
		return adminError("set sequence of", parent, err)
	}
	return nil
}

// SetVersion sets the version of a node's data, for instance 2147483647 or -2,
// which a client would reach only after billions of changes. The data is
// written again unchanged, so watches fire.
func (s *Server) SetVersion(path string, version int32) error {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.world.SetVersion(path, version)
	s.nudgeLocked()
	if err != nil {
		return adminError("set version of", path, err)
	}
	return nil
}

// adminNodeLocked returns the server with the authoritative replica: the leader
// or, without a leader, the server with the newest transaction.
func (s *Server) adminNodeLocked() *ensemble.Node {
	if n := s.world.Leader(); n != nil {
		return n
	}
	best := s.world.Node(1)
	for i := 2; i <= s.opt.Servers; i++ {
		if n := s.world.Node(i); n.Tree().LastZxid() > best.Tree().LastZxid() {
			best = n
		}
	}
	return best
}

// Get returns a node as the leader has it, or ErrNoNode.
func (s *Server) Get(path string) (Node, error) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	return nodeAt(s.adminNodeLocked(), path)
}

// GetAt returns a node as the replica of server i has it, or ErrNoNode.
func (s *Server) GetAt(i int, path string) (Node, error) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.findNode(i)
	if err != nil {
		return Node{}, err
	}
	return nodeAt(n, path)
}

func nodeAt(at *ensemble.Node, path string) (Node, error) {
	n := at.Tree().Get(path)
	if n == nil {
		return Node{}, fmt.Errorf("zktest: get %s: %w", path, ErrNoNode)
	}
	st := n.Stat()
	return Node{
		Path: path, Data: bytes.Clone(n.Data), Czxid: st.Czxid, Mzxid: st.Mzxid, Pzxid: st.Pzxid,
		Ctime: st.Ctime, Mtime: st.Mtime, Version: st.Version, Cversion: st.Cversion, Aversion: st.Aversion,
		EphemeralOwner: st.EphemeralOwner, NumChildren: st.NumChildren,
		Container: n.IsContainer(), TTL: n.IsTTL(),
	}, nil
}

// Children returns the names of a node's children, sorted, or ErrNoNode.
func (s *Server) Children(path string) ([]string, error) {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.adminNodeLocked().Tree()
	n := t.Get(path)
	if n == nil {
		return nil, fmt.Errorf("zktest: children of %s: %w", path, ErrNoNode)
	}
	return t.SortedChildren(n), nil
}

// Dump returns all nodes but those below /zookeeper, sorted by path.
func (s *Server) Dump() []Node {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.adminNodeLocked()
	var out []Node
	for _, p := range n.Tree().UserPaths() {
		if node, err := nodeAt(n, p); err == nil {
			out = append(out, node)
		}
	}
	return out
}
