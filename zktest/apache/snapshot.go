package apache

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"maps"
	"math"
	"slices"
	"strings"
)

// snapshotName is the file, below the data folder, read by a server at its
// start: the state of transaction 0.
const snapshotName = "version-2/snapshot.0"

// openACL and readACL are the numbers of the ACL lists in the snapshot:
// world:anyone:cdrwa and world:anyone:r.
const openACL, readACL = 1, 2

// configPath is the only node of a new server with restricted access.
const configPath = "/zookeeper/config"

// encodeSnapshot is a file of ZooKeeper's snapshot format, version 2, with the nodes
// of counters, whose next sequential children get the given numbers, and the
// nodes of versions, whose data have the given versions.
//
// A server takes the number from the parent's cversion, counted up by creates
// only (Stat shows twice this number minus the number of children). The stored
// cversion is therefore the number itself. Clients cannot raise a counter this
// far in reasonable time.
func encodeSnapshot(counters, versions map[string]int32) ([]byte, error) {
	var w snapWriter
	w.WriteString("ZKSN")
	w.writeNumbers(int32(2), int64(-1)) // version, database id
	w.writeNumbers(int32(0))            // sessions with their timeouts
	w.writeNumbers(int32(2))            // ACL lists
	for _, list := range [][2]int{{openACL, 31}, {readACL, 1}} {
		w.writeNumbers(int64(list[0]), int32(1), int32(list[1]))
		w.writeText("world")
		w.writeText("anyone")
	}
	for _, path := range append([]string{"", "/zookeeper", configPath, "/zookeeper/quota"}, withParents(counters, versions)...) {
		if err := w.writeNode(path, counters[or(path, "/")], versions[or(path, "/")]); err != nil {
			return nil, err
		}
	}
	w.writeText("/") // end of the tree
	w.writeNumbers(int64(adler32.Checksum(w.Bytes())))
	w.writeText("/") // end of the file: without this mark a server considers the file truncated
	return w.Bytes(), nil
}

// withParents returns the paths of nodes with everything above them, upper first.
func withParents(nodes ...map[string]int32) []string {
	all := map[string]bool{}
	for _, some := range nodes {
		for path := range some {
			if path == "/" {
				continue // its name in the snapshot is ""
			}
			for i := 1; i < len(path); i++ {
				if path[i] == '/' {
					all[path[:i]] = true
				}
			}
			all[path] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

type snapWriter struct{ bytes.Buffer }

func (w *snapWriter) writeNumbers(values ...any) {
	for _, v := range values {
		// A write of a fixed size value into a buffer cannot fail.
		_ = binary.Write(w, binary.BigEndian, v)
	}
}

func (w *snapWriter) writeText(s string) {
	w.writeNumbers(int32(len(s)))
	w.WriteString(s)
}

// writeNode writes a persistent node without data.
func (w *snapWriter) writeNode(path string, cversion, version int32) error {
	if path != "" && (!strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || len(path) > math.MaxInt16) {
		return fmt.Errorf("apache: Counters or Versions: %q is not the path of a node", path)
	}
	acl, aversion := openACL, 0
	if path == configPath {
		acl, aversion = readACL, -1 // as created by servers
	}
	w.writeText(path)
	w.writeNumbers(int32(0), int64(acl)) // data, ACL
	w.writeNumbers(int64(0), int64(0))   // czxid, mzxid
	w.writeNumbers(int64(0), int64(0))   // ctime, mtime
	w.writeNumbers(version, cversion, int32(aversion))
	w.writeNumbers(int64(0), int64(0)) // ephemeralOwner, pzxid
	return nil
}
