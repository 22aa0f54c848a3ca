package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// The paths of quotas, as in org.apache.zookeeper.Quotas: below quotaRoot and the
// path of the quota.
const (
	systemRoot = "/zookeeper"
	quotaRoot  = systemRoot + "/quota"
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
)

// track is the data of limits and statistics, in the format of
// org.apache.zookeeper.StatsTrack: "count=5,bytes=-1;countHardLimit=7". A
// missing value is -1.
type track map[string]int64

// readTrack reads a track, and skips unreadable pairs, on which Apache's server
// fails.
func readTrack(data []byte) track {
	s := track{}
	for _, pair := range strings.FieldsFunc(string(data), func(r rune) bool { return r == ',' || r == ';' }) {
		key, value, _ := strings.Cut(pair, "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			s[key] = n
		}
	}
	return s
}

func (s track) get(key string) int64 {
	if n, ok := s[key]; ok {
		return n
	}
	return -1
}

// encode writes a track: count and bytes first, the others sorted.
func (s track) encode() []byte {
	out := fmt.Sprintf("count=%d,bytes=%d", s.get("count"), s.get("bytes"))
	var others []string
	for key := range s {
		if key != "count" && key != "bytes" {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	for _, key := range others {
		out += fmt.Sprintf(";%s=%d", key, s[key])
	}
	return []byte(out)
}

// nearestQuota returns the nearest path with a quota: path itself or an ancestor; ""
// without a quota. The root has no quota.
func (t *Tree) nearestQuota(path string) string {
	for ; path != "" && len(t.quotas) > 0; path, _ = Parent(path) {
		if t.quotas[path] {
			return path
		}
	}
	return ""
}

// addToStats adds a change below a quota to the statistics of the quota. The
// version of the statistics' node does not change.
func (t *Tree) addToStats(path string, bytes, count int) {
	quota := t.nearestQuota(path)
	n := t.nodes[quotaRoot+quota+"/"+statsName]
	if quota == "" || n == nil {
		return
	}
	s := readTrack(n.Data)
	s["count"], s["bytes"] = s.get("count")+int64(count), s.get("bytes")+int64(bytes)
	n.Data = s.encode()
}

// quotaCreated updates quotas after the creation of a node. A node of limits
// makes a quota; a node of statistics begins with the present figures.
func (t *Tree) quotaCreated(path string, n *Node) {
	parent, _ := Parent(path)
	if quota, ok := strings.CutPrefix(parent, quotaRoot); ok && quota != "" {
		switch baseName(path) {
		case limitsName:
			t.quotas[quota] = true
		case statsName:
			s := track{"count": 0, "bytes": 0}
			t.sumBelow(quota, s)
			n.Data = s.encode()
		}
	}
	t.addToStats(path, len(n.Data), 1)
}

// quotaRemoved keeps quotas after a node was removed.
func (t *Tree) quotaRemoved(path string, n *Node) {
	parent, _ := Parent(path)
	if quota, ok := strings.CutPrefix(parent, quotaRoot); ok && baseName(path) == limitsName {
		delete(t.quotas, quota)
	}
	t.addToStats(path, -len(n.Data), -1)
}

// sumBelow counts a node and all below it.
func (t *Tree) sumBelow(path string, s track) {
	n := t.nodes[path]
	if n == nil {
		return
	}
	s["count"], s["bytes"] = s["count"]+1, s["bytes"]+int64(len(n.Data))
	for _, name := range n.children.names {
		t.sumBelow(path+"/"+name, s)
	}
}

// exceedsLimit reports whether a change would exceed a hard limit. As in Apache's
// server, the parts of a transaction do not add up, and the limit of a figure
// is also checked if the figure shrinks.
func (t *Tree) exceedsLimit(path string, bytes, count int) bool {
	quota := t.nearestQuota(path)
	if quota == "" {
		return false
	}
	limits, stats := t.nodes[quotaRoot+quota+"/"+limitsName], t.nodes[quotaRoot+quota+"/"+statsName]
	if limits == nil || stats == nil {
		return false
	}
	most, now := readTrack(limits.Data), readTrack(stats.Data)
	over := func(diff int, key, hard string) bool {
		return diff != 0 && most.get(hard) > -1 && now.get(key)+int64(diff) > most.get(hard)
	}
	return over(count, "count", "countHardLimit") || over(bytes, "bytes", "byteHardLimit")
}

// checkQuota returns the code for a change beyond a quota, if quotas are enforced.
func (o *overlay) checkQuota(path string, bytes, count int, caller *Caller) proto.Code {
	if caller.Quotas && !caller.Admin && o.t.exceedsLimit(path, bytes, count) {
		return proto.QuotaExceeded
	}
	return proto.OK
}
