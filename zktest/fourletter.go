package zktest

import (
	"fmt"
	"sort"
	"strings"

	"github.com/zkrecipes/zkrecipes/zktest/internal/ensemble"
)

// version is the version that the four-letter words report.
const version = "3.8.0-zktest, built on 01/01/2024 00:00 UTC"

func isFourLetterWord(w string) bool {
	switch w {
	case "ruok", "srvr", "stat", "mntr", "cons", "dump", "wchs", "wchc", "wchp", "conf", "envi", "dirs", "isro":
		return true
	}
	return false
}

// FourLetter answers a four-letter word for server i as over TCP: ruok, srvr,
// stat, mntr, cons, dump, wchs, wchc, wchp, conf, envi, dirs, isro. "" if the server
// is stopped or the word is unknown.
func (s *Server) FourLetter(i int, word string) string {
	s.mustBeStarted()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.world.Node(i)
	if n == nil || n.Down() || !isFourLetterWord(word) {
		return ""
	}
	return s.wordLocked(n, word)
}

// answerWord answers on the connection and closes it.
func (c *conn) answerWord(word string) {
	text := c.s.wordLocked(c.core.Node(), word)
	c.pushOut([]byte(text), c.s.delayLocked(c, ToClient))
	c.core.Close()
}

func (s *Server) wordLocked(n *ensemble.Node, word string) string {
	if word == "ruok" {
		return "imok"
	}
	if n.Mode() == "" {
		if word == "isro" {
			return "null"
		}
		return "This ZooKeeper instance is not currently serving requests\n"
	}
	var b strings.Builder
	switch word {
	case "srvr":
		s.srvrLocked(&b, n)
	case "stat":
		fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", version)
		s.consLocked(&b, n, false)
		b.WriteByte('\n')
		s.srvrTailLocked(&b, n)
	case "cons":
		s.consLocked(&b, n, true)
		b.WriteByte('\n')
	case "mntr":
		s.mntrLocked(&b, n)
	case "dump":
		s.dumpLocked(&b, n)
	case "wchs", "wchc", "wchp":
		watchWords(&b, n, word)
	case "conf":
		s.confLocked(&b, n)
	case "envi":
		fmt.Fprintf(&b, "Environment:\nzookeeper.version=%s\nhost.name=localhost\n", version)
	case "dirs": // all is in memory
		b.WriteString("datadir_size: 0\nlogdir_size: 0\n")
	case "isro":
		if n.Mode() == "read-only" {
			return "ro"
		}
		return "rw"
	}
	return b.String()
}

func (s *Server) srvrLocked(b *strings.Builder, n *ensemble.Node) {
	fmt.Fprintf(b, "Zookeeper version: %s\n", version)
	s.srvrTailLocked(b, n)
}

func (s *Server) srvrTailLocked(b *strings.Builder, n *ensemble.Node) {
	conns := n.Conns()
	received, sent, waiting := int64(0), int64(0), 0
	for _, c := range conns {
		st := c.Stats()
		received, sent, waiting = received+st.Received, sent+st.Sent, waiting+c.Outstanding()
	}
	fmt.Fprintf(b, "Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\n",
		received, sent, len(conns), waiting)
	fmt.Fprintf(b, "Zxid: 0x%x\nMode: %s\nNode count: %d\n", n.Tree().LastZxid(), n.Mode(), n.Tree().Count())
}

func (s *Server) consLocked(b *strings.Builder, n *ensemble.Node, details bool) {
	for _, c := range s.sortedLocked() {
		if c.core.Node() != n || c.core.ID() == 0 || c.raw {
			continue
		}
		st := c.core.Stats()
		fmt.Fprintf(b, " /%s[1](queued=%d,recved=%d,sent=%d", c.addr, c.core.Outstanding(), st.Received, st.Sent)
		if details && c.core.Ready() {
			fmt.Fprintf(b, ",sid=0x%x,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=0,minlat=0,avglat=0,maxlat=0",
				uint64(c.core.Session()), st.LastOp, st.Established.UnixMilli(), c.core.Timeout(),
				uint32(st.LastXid), uint64(st.LastZxid), st.LastResponse.UnixMilli())
		}
		b.WriteString(")\n")
	}
}

func (s *Server) mntrLocked(b *strings.Builder, n *ensemble.Node) {
	line := func(key string, v any) { fmt.Fprintf(b, "zk_%s\t%v\n", key, v) }
	received, sent, waiting := int64(0), int64(0), 0
	for _, c := range n.Conns() {
		st := c.Stats()
		received, sent, waiting = received+st.Received, sent+st.Sent, waiting+c.Outstanding()
	}
	line("version", version)
	line("server_state", n.Mode())
	line("avg_latency", "0.0")
	line("max_latency", 0)
	line("min_latency", 0)
	line("packets_received", received)
	line("packets_sent", sent)
	line("num_alive_connections", len(n.Conns()))
	line("outstanding_requests", waiting)
	line("znode_count", n.Tree().Count())
	line("watch_count", n.Watches().Count())
	line("ephemerals_count", n.Tree().EphemeralCount())
	line("approximate_data_size", n.Tree().DataSize())
	line("global_sessions", len(n.Tree().Sessions()))
	if n.Mode() == "leader" {
		line("followers", n.Followers())
		line("synced_followers", n.Followers())
	}
}

func (s *Server) dumpLocked(b *strings.Builder, n *ensemble.Node) {
	ids := ensemble.SortedKeys(n.Tree().Sessions())
	fmt.Fprintf(b, "SessionTracker dump:\nGlobal Sessions(%d):\n", len(ids))
	for _, id := range ids {
		fmt.Fprintf(b, "0x%x\t%dms\n", uint64(id), n.Tree().Sessions()[id])
	}
	var with []int64
	for _, id := range ids {
		if len(n.Tree().Ephemerals(id)) > 0 {
			with = append(with, id)
		}
	}
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(with))
	for _, id := range with {
		fmt.Fprintf(b, "0x%x:\n", uint64(id))
		for _, p := range n.Tree().Ephemerals(id) {
			fmt.Fprintf(b, "\t%s\n", p)
		}
	}
	attached := 0
	for _, c := range n.Conns() {
		if c.Ready() {
			attached++
		}
	}
	fmt.Fprintf(b, "Connections dump:\nConnections Sets (0)/(%d):\n", attached)
}

func watchWords(b *strings.Builder, n *ensemble.Node, word string) {
	session := map[int64]int64{}
	for _, c := range n.Conns() {
		session[c.ID()] = c.Session()
	}
	byPath, bySession, pairs := map[string][]string{}, map[string][]string{}, 0
	for path, owners := range n.Watches().ByPath() {
		for _, o := range owners {
			id := fmt.Sprintf("0x%x", uint64(session[o]))
			byPath[path] = append(byPath[path], id)
			bySession[id] = append(bySession[id], path)
			pairs++
		}
	}
	switch word {
	case "wchs":
		fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", len(bySession), len(byPath), pairs)
	case "wchc":
		writeListing(b, bySession)
	case "wchp":
		writeListing(b, byPath)
	}
}

func writeListing(b *strings.Builder, m map[string][]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		sort.Strings(m[k])
		fmt.Fprintf(b, "%s\n\t%s\n", k, strings.Join(m[k], "\n\t"))
	}
	b.WriteByte('\n')
}

func (s *Server) confLocked(b *strings.Builder, n *ensemble.Node) {
	_, port, _ := strings.Cut(s.addrs[n.Index()-1], ":")
	fmt.Fprintf(b, "clientPort=%s\ntickTime=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=%d\n",
		port, s.opt.TickTime.Milliseconds(), s.opt.MinSessionTimeout.Milliseconds(), s.opt.MaxSessionTimeout.Milliseconds(), n.Index())
	if s.opt.Servers > 1 {
		fmt.Fprintf(b, "syncLimit=%d\n", s.opt.SyncLimit)
	}
}
