package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// connection is a client's connection, by the word cons.
type connection struct {
	client, port string
	session      string
	timeout      time.Duration // 0 without a session
	since        time.Time
	// answered is the time of the last answer to the client, by a clock of the server that
	// begins at any time: only differences count.
	answered time.Duration
}

func (s *Server) connections() (out []connection) {
	for line := range strings.Lines(s.Words["cons"]) {
		head, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "/"), "(")
		interest := strings.LastIndexByte(head, '[') // behind an IPv6 address, which may have brackets
		if !ok || interest < 0 {
			continue
		}
		address := head[:interest]
		c := connection{client: address}
		if i := strings.LastIndexByte(address, ':'); i >= 0 {
			c.client, c.port = address[:i], address[i+1:]
		}
		for field := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "sid":
				c.session = value
			case "to":
				c.timeout = time.Duration(number(value)) * time.Millisecond
			case "est":
				c.since = time.UnixMilli(number(value))
			case "lresp":
				c.answered = time.Duration(number(value)) * time.Millisecond
			}
		}
		out = append(out, c)
	}
	return out
}

// Clients are the connections of the sessions, as far as the servers tell.
func Clients(all []*Server) map[recognize.SessionID]recognize.Connection {
	out := map[recognize.SessionID]recognize.Connection{}
	for _, s := range all {
		connections, newest := s.connections(), time.Duration(0)
		for _, c := range connections {
			newest = max(newest, c.answered)
		}
		for _, c := range connections {
			id, err := strconv.ParseUint(strings.TrimPrefix(c.session, "0x"), 16, 64)
			if err != nil || c.timeout == 0 {
				continue
			}
			next := recognize.Connection{
				Client: c.client + ":" + c.port, Server: s.Address, Since: c.since,
				Timeout: int(c.timeout.Milliseconds()), Silent: int((newest - c.answered).Milliseconds()),
			}
			// A session that has moved may still have its former connection.
			if former, ok := out[recognize.SessionID(id)]; !ok || former.Since.Before(next.Since) {
				out[recognize.SessionID(id)] = next
			}
		}
	}
	return out
}

// tellAll reports whether the servers are a whole ensemble, and each tells its connections.
func tellAll(all []*Server) bool {
	members := 0
	for _, s := range all {
		if _, told := s.Words["cons"]; !told || !s.Serving() {
			return false
		}
		members = max(members, s.members())
	}
	return members > 0 && len(all) >= members
}

// Holders finds holders whose client is away.
func Holders(things []*recognize.Thing, all []*Server) (out []Finding) {
	clients, whole := Clients(all), tellAll(all)
	add := func(at, format string, args ...any) {
		out = append(out, newFinding("holder.silent", recognize.Hint, at, fmt.Sprintf(format, args...)))
	}
	for _, t := range things {
		for _, c := range t.Holders() {
			switch at, connected := clients[c.Session]; {
			case c.Session == 0:
			case connected && at.Silent > at.Timeout/2:
				add(t.Path, "%s has not heard for %d ms or more of the client %s of session %s, whose timeout is %d ms; it holds by %s", at.Server, at.Silent, at.Client, c.Session, at.Timeout, c.Path)
			case !connected && whole:
				add(t.Path, "no server had a connection of session %s when they were asked; it holds by %s", c.Session, c.Path)
			}
		}
	}
	return out
}
