package rebalanser

import (
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/session"
)

// The names, which package shareformat describes. Those of "clients" and "instances" are in
// the forms of election.LeaderLatch and lock.Curator; all others are ours alone.
const (
	clientsDir     = shareformat.DirClients
	clientPrefix   = shareformat.ClientPrefix
	instancesDir   = shareformat.DirInstances
	resourcesDir   = shareformat.DirResources
	epochNode      = shareformat.NodeEpoch
	assignmentsDir = shareformat.DirAssignments
	barriersDir    = shareformat.DirBarriers
	statusNode     = shareformat.NodeStatus
	stoppedDir     = shareformat.DirStopped
	failuresDir    = shareformat.DirFailures
	configNode     = shareformat.NodeConfig
)

// layout is a group's path.
type layout string

func (l layout) dirPath(dir string) string         { return string(l) + "/" + dir }
func (l layout) nodePath(dir, name string) string  { return l.dirPath(dir) + "/" + name }
func (l layout) clientPath(name string) string     { return l.nodePath(clientsDir, name) }
func (l layout) instancePath(id string) string     { return l.nodePath(instancesDir, id) }
func (l layout) resourcePath(name string) string   { return l.nodePath(resourcesDir, name) }
func (l layout) shardPath(key string) string       { return l.nodePath(assignmentsDir, key) }
func (l layout) barrierPath(name string) string    { return l.nodePath(barriersDir, name) }
func (l layout) failuresPath(client string) string { return l.nodePath(failuresDir, client) }
func (l layout) chunkPath(key string, generation int64, i int) string {
	return l.shardPath(key) + "/" + shareformat.ChunkName(generation, i)
}
func (l layout) stoppedPath(client string, generation int64) string {
	return l.nodePath(stoppedDir, shareformat.StoppedName(client, generation))
}

// groupFolders are the children that a group of that mode has from the beginning,
// besides those that recipes make by themselves.
func (m Mode) groupFolders() []string {
	all := []string{resourcesDir, epochNode, assignmentsDir, configNode}
	if m == GlobalBarrier {
		return append(all, statusNode, stoppedDir)
	}
	return append(all, barriersDir)
}

// validName checks a name that becomes the last element of a path.
func validName(field, name string) error {
	if err := shareformat.ValidName(name); err != nil {
		return fmt.Errorf("%w: %s %w", ErrInvalidArgument, field, err)
	}
	return nil
}

// validPath checks a group's path.
func validPath(path string) error {
	if err := session.ValidatePath(path); err != nil {
		return fmt.Errorf("%w: path: %w", ErrInvalidArgument, err)
	}
	if path == "/" {
		return fmt.Errorf("%w: the path is the root; a group must be below it", ErrInvalidArgument)
	}
	return nil
}
