// Package shareformat is the format of groups that share resources: the znodes that
// package rebalanser writes (docs/rebalanser.md). The package is pure; the dashboard
// recognizes groups by it.
package shareformat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Children of a group's path. Those of "clients" and "instances" are in the forms
// of election.LeaderLatch and lock.Curator; all others are ours alone. All are
// persistent, unless it says otherwise.
const (
	// DirClients is the election of the coordinator. Its candidates,
	// "_c_<uuid>-latch-<seq>", are the clients of the group; data: a member
	// record, [Member]. A container.
	DirClients = "clients"
	// ClientPrefix begins clients' names, and no instance id.
	ClientPrefix = "_c_"
	// clientMarker stands before the number in a client's name.
	clientMarker = "latch-"
	// DirInstances has a lock per static member, by its instance id, which it
	// holds for as long as it is a member. Its children are containers.
	DirInstances = "instances"
	// DirResources has a child per resource, which any client may create and delete
	// with any tool; the library ignores its data.
	DirResources = "resources"
	// NodeEpoch has an [Epoch]; its version grows by one per election.
	NodeEpoch = "epoch"
	// DirAssignments has a shard per member, by instance id or client name; the names
	// that do not fit into it ([Shard]) are in its children, "<generation>-<i>".
	DirAssignments = "assignments"
	// DirBarriers has the owner of each resource, in resource mode: a table of locks, in
	// the format of package tableformat.
	DirBarriers = "barriers"
	// NodeStatus has, global mode, a [Status].
	NodeStatus = "status"
	// DirStopped has, global mode, "<client>.<generation>", ephemeral: this client
	// has stopped the resources that the generation takes from it.
	DirStopped = "stopped"
	// DirFailures has a child per client that retries something after a failure,
	// by its name, ephemeral: a [Failures] record. A container.
	DirFailures = "failures"
	// NodeConfig has a [Config].
	NodeConfig = "config"
)

// ChunkName is the name of the i-th child of a shard of that generation.
func ChunkName(generation int64, i int) string { return fmt.Sprintf("%d-%d", generation, i) }

// StoppedName is the name of the child of DirStopped of that client.
func StoppedName(client string, generation int64) string {
	return client + "." + strconv.FormatInt(generation, 10)
}

// ParseStopped reads the names that StoppedName writes.
func ParseStopped(name string) (client string, generation int64, ok bool) {
	client, number, _ := strings.Cut(name, ".")
	generation, err := strconv.ParseInt(number, 10, 64)
	if err != nil || client == "" || generation < 0 || strconv.FormatInt(generation, 10) != number {
		return "", 0, false
	}
	return client, generation, true
}

// IsClient tells clients from other children of DirClients.
func IsClient(name string) bool {
	_, err := znode.Sequence(name)
	return err == nil && strings.HasSuffix(name[:len(name)-znode.Digits], clientMarker)
}

// Clients are the clients among the children of DirClients, in their order: the first one
// coordinates.
func Clients(children []string) []znode.Entry { return znode.Parse(children, clientMarker).Entries }

// maxName is the longest name of a resource or an instance, in bytes.
const maxName = 1024

// ValidName checks a name that becomes the last element of a path.
func ValidName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > maxName:
		return fmt.Errorf("%.60q is longer than %d bytes", name, maxName)
	case strings.Contains(name, "/"):
		return fmt.Errorf("%.60q has a slash", name)
	}
	if err := znode.ValidatePath("/" + name); err != nil {
		return fmt.Errorf("%.60q cannot be a name of a znode: %w", name, err)
	}
	return nil
}

// ValidInstance checks an instance id: it must not look like a client's name, which names
// the shards of the other members.
func ValidInstance(id string) error {
	if err := ValidName(id); err != nil {
		return err
	}
	if strings.HasPrefix(id, ClientPrefix) {
		return fmt.Errorf("%.60q begins with %s", id, ClientPrefix)
	}
	return nil
}
