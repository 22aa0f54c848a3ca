package rebalanser

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// Children of a group's path. Those of "clients" and "instances" are in the forms
// of election.LeaderLatch and lock.Curator; all others are ours alone. All are
// persistent, unless it says otherwise; the records are in record.go.
const (
	// clientsDir is the election of the coordinator. Its candidates,
	// "_c_<uuid>-latch-<seq>", are the clients of the group; data: a member
	// record. A container.
	clientsDir = "clients"
	// clientPrefix is what clients' names begin with, and no instance id does.
	clientPrefix = "_c_"
	// clientMarker is what stands before the number in a client's name.
	clientMarker = "latch-"
	// instancesDir has a lock per static member, by its instance id, which it
	// holds for as long as it is a member. Its children are containers.
	instancesDir = "instances"
	// resourcesDir has a child per resource, which anybody may create and delete
	// with any tool; its data is nobody's business here.
	resourcesDir = "resources"
	// epochNode says who coordinates; its version grows by one per election.
	epochNode = "epoch"
	// assignmentsDir has a shard per member, by instance id or client name; what
	// does not fit into it is in its children, "<generation>-<i>".
	assignmentsDir = "assignments"
	// barriersDir says, resource mode, who owns which resource.
	barriersDir = "barriers"
	// statusNode says, global mode, how far the generation is.
	statusNode = "status"
	// stoppedDir has, global mode, "<client>.<generation>", ephemeral: this
	// client has stopped what that generation takes from it.
	stoppedDir = "stopped"
	// configNode says whether the group is paused.
	configNode = "config"
)

// layout is a group's path.
type layout string

func (l layout) in(dir string) string        { return string(l) + "/" + dir }
func (l layout) at(dir, name string) string  { return l.in(dir) + "/" + name }
func (l layout) client(name string) string   { return l.at(clientsDir, name) }
func (l layout) instance(id string) string   { return l.at(instancesDir, id) }
func (l layout) resource(name string) string { return l.at(resourcesDir, name) }
func (l layout) shard(key string) string     { return l.at(assignmentsDir, key) }
func (l layout) barrier(name string) string  { return l.at(barriersDir, name) }
func (l layout) chunk(key string, generation int64, i int) string {
	return l.shard(key) + "/" + chunkName(generation, i)
}
func (l layout) stopped(client string, generation int64) string {
	return l.at(stoppedDir, client+"."+strconv.FormatInt(generation, 10))
}

// folders are the children that a group of that mode has from the beginning,
// besides those that recipes make by themselves.
func (m Mode) folders() []string {
	all := []string{resourcesDir, epochNode, assignmentsDir, configNode}
	if m == GlobalBarrier {
		return append(all, statusNode, stoppedDir)
	}
	return append(all, barriersDir)
}

func chunkName(generation int64, i int) string { return fmt.Sprintf("%d-%d", generation, i) }

// parseStopped reads the name of a child of stoppedDir.
func parseStopped(name string) (client string, generation int64, ok bool) {
	client, number, found := strings.Cut(name, ".")
	generation, err := strconv.ParseInt(number, 10, 64)
	return client, generation, found && err == nil
}

// isClient tells clients from other children of clientsDir.
func isClient(name string) bool {
	_, err := session.Sequence(name)
	return err == nil && strings.HasSuffix(name[:len(name)-10], clientMarker)
}

// maxName is the longest name of a resource or an instance, in bytes.
const maxName = 1024

// validName checks a name that becomes the last element of a path.
func validName(field, name string) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s %.60q %s", ErrArgument, field, name, why) }
	switch {
	case name == "":
		return fmt.Errorf("%w: %s is empty", ErrArgument, field)
	case len(name) > maxName:
		return bad(fmt.Sprintf("is longer than %d bytes", maxName))
	case strings.Contains(name, "/"):
		return bad("has a slash")
	}
	if err := session.ValidatePath("/" + name); err != nil {
		why := "cannot be a name of a znode"
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
		}
		return fmt.Errorf("%w: %s %.60q %s: %w", ErrArgument, field, name, why, err)
	}
	return nil
}

// validPath checks a group's path.
func validPath(path string) error {
	if err := session.ValidatePath(path); err != nil {
		return fmt.Errorf("%w: path: %w", ErrArgument, err)
	}
	if path == "/" {
		return fmt.Errorf("%w: the path is the root; a group must be below it", ErrArgument)
	}
	return nil
}
