package doctor

import (
	"strconv"
	"strings"
	"time"
)

// Server has the answers of a server about itself. A figure without an answer is zero.
type Server struct {
	Address string
	// Err is why the server cannot be reached; nil if it can, or was not asked.
	Err error
	// Words are the answers by word; Refused are the words that are not allowed, Silent
	// those without an answer.
	Words           map[string]string
	Refused, Silent []string
	// AdminURL is where the admin server was asked for the system properties; "" if it was not.
	// Admin is its answer; nil if there is none.
	AdminURL string
	Admin    *Admin
}

// Row is a server in JSON.
type Row struct {
	Address string `json:"address"`
	// Mode is "" for a server that does not serve, or does not answer.
	Mode    string `json:"mode"`
	Version string `json:"version"`
}

// Rows are the servers in JSON, never null.
func Rows(all []*Server) []Row {
	out := make([]Row, len(all))
	for i, s := range all {
		out[i] = Row{s.Address, s.Mode(), s.Version()}
	}
	return out
}

// notServing is what a server without a quorum answers.
const notServing = "not currently serving requests"

// Serving reports whether the server serves clients.
func (s *Server) Serving() bool { return s.Mode() != "" }

// refusing reports whether the server has said that it serves no clients.
func (s *Server) refusing() bool { return strings.Contains(s.Words["srvr"], notServing) }

// Mode is "leader", "follower", "observer", "standalone" or "read-only"; "" if unknown.
func (s *Server) Mode() string { return s.line("srvr", "Mode: ") }

// imitates reports whether the server is the in-process server of package zktest, which names
// the version that it imitates.
func (s *Server) imitates() bool {
	return strings.Contains(s.line("srvr", "Zookeeper version: "), "-zktest")
}

// Version is the version, such as "3.9.4"; "" if unknown.
func (s *Server) Version() string {
	v := s.line("srvr", "Zookeeper version: ")
	if end := strings.IndexFunc(v, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		v = v[:end]
	}
	return v
}

// Latency is the average time of a request in the server, in milliseconds.
func (s *Server) Latency() float64 {
	_, rest, _ := strings.Cut(s.line("srvr", "Latency min/avg/max: "), "/")
	average, _, _ := strings.Cut(rest, "/")
	ms, _ := strconv.ParseFloat(average, 64)
	return ms
}

// Outstanding is how many requests wait in the server.
func (s *Server) Outstanding() int64 { return number(s.line("srvr", "Outstanding: ")) }

// Znodes is how many znodes the server has.
func (s *Server) Znodes() int64 { return number(s.line("srvr", "Node count: ")) }

// WatchedPaths is how many paths are watched for their data or their creation; 0 if unknown.
func (s *Server) WatchedPaths() int64 {
	_, rest, _ := strings.Cut(s.Words["wchs"], " connections watching ")
	paths, _, _ := strings.Cut(rest, " paths")
	return number(paths)
}

// Connections is how many clients are connected; false if the server did not tell.
func (s *Server) Connections() (n int64, known bool) {
	text := s.line("srvr", "Connections: ")
	return number(text), text != ""
}

// monitored is a value of the word mntr.
func (s *Server) monitored(key string) (int64, bool) {
	text := s.line("mntr", "zk_"+key+"\t")
	return number(text), text != ""
}

// setting is a value of the word conf.
func (s *Server) setting(key string) string { return s.line("conf", key+"=") }

// duration is a setting in milliseconds.
func (s *Server) duration(key string) time.Duration {
	return time.Duration(number(s.setting(key))) * time.Millisecond
}

// Tick is the tick, and Least and Most are the limits of session timeouts; 0 if unknown.
func (s *Server) Tick() time.Duration { return s.duration("tickTime") }

// Least is the shortest session timeout that the server grants.
func (s *Server) Least() time.Duration { return s.duration("minSessionTimeout") }

// Most is the longest session timeout that the server grants.
func (s *Server) Most() time.Duration { return s.duration("maxSessionTimeout") }

// Sync is how long the server goes on without its leader, or the leader without a majority:
// syncLimit; 0 if unknown, and for a standalone server.
func (s *Server) Sync() time.Duration {
	return time.Duration(number(s.setting("syncLimit"))) * s.Tick()
}

// ID is the number of the server in its ensemble; "" if unknown.
func (s *Server) ID() string { return s.setting("serverId") }

// voters is how many servers vote, as far as the server says so.
func (s *Server) voters() (n int) {
	for line := range strings.Lines(s.Words["conf"]) {
		if strings.HasPrefix(line, "server.") && !strings.Contains(line, ":observer") {
			n++
		}
	}
	return n
}

// members is how many members, with observers, the ensemble has; 0 if unknown.
func (s *Server) members() (n int) {
	if s.Mode() == "standalone" {
		return 1
	}
	for line := range strings.Lines(s.Words["conf"]) {
		n += asBit(strings.HasPrefix(line, "server."))
	}
	return n
}

// line is the rest of the line of a word's answer that begins with prefix.
func (s *Server) line(word, prefix string) string {
	for line := range strings.Lines(s.Words[word]) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
