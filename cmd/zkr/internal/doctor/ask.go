package doctor

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// longest is how much of an answer is read: cons has a line for each client.
const longest = 64 << 20

// probe is harmless, and hardly any list of allowed words names it: a server that answers it
// allows all words.
const probe = "gtmk"

// words are those that are asked.
//
// read only
var words = []string{"srvr", "mntr", "conf", "cons", "dirs", "wchs", probe}

// Addresses are the servers of a connect string, as [session.Connect] reads it. Errors in it are
// found when zkr connects.
func Addresses(list string) (out []string) {
	hosts, _, _ := strings.Cut(list, "/")
	for part := range strings.SplitSeq(hosts, ",") {
		part = strings.TrimSpace(part)
		bare := strings.TrimSuffix(strings.TrimPrefix(part, "["), "]")
		if !strings.Contains(part, ":") || net.ParseIP(bare) != nil {
			part = net.JoinHostPort(bare, "2181")
		}
		out = append(out, part)
	}
	return out
}

// Ask asks the servers at addresses, concurrently. A server gets one word after the other,
// so that the questions do not fill the limit of connections.
func (a Asking) Ask(ctx context.Context, addresses []string) []*Server {
	out := make([]*Server, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		// Waited for below; ends when the server has answered, or patience is over.
		asking.Go(func() { out[i] = a.askServer(ctx, address) })
	}
	asking.Wait()
	return out
}

// errClosed: a server that accepts no further connection closes it at once.
var errClosed = errors.New("the server closed the connection without an answer")

func (a Asking) askServer(ctx context.Context, address string) *Server {
	s := &Server{Address: address, Words: map[string]string{}}
	if a.AdminPort > 0 {
		s.AdminURL = propertiesURL(address, a.AdminPort)
		told := make(chan *Admin, 1)
		// Waited for below; ends when the admin server has answered, or its patience is over.
		go func() { told <- askAdmin(ctx, s.AdminURL) }()
		defer func() { s.Admin = <-told }()
	}
	for _, word := range words {
		limited, cancel := context.WithTimeout(ctx, a.Patience)
		answer, err := askWord(limited, address, word)
		cancel()
		if err == nil && answer == "" {
			err = errClosed
		}
		switch {
		case err != nil && word == words[0]:
			s.Err = err
			return s
		case word == probe && (err != nil || strings.Contains(answer, "not in the whitelist")):
			// As it should be.
		case strings.Contains(answer, "not in the whitelist"):
			s.Refused = append(s.Refused, word)
		case err != nil:
			s.Silent = append(s.Silent, word)
		case word != words[0] && strings.Contains(answer, notServing):
			s.Silent = append(s.Silent, word)
		default:
			s.Words[word] = answer
		}
	}
	return s
}

func askWord(ctx context.Context, address, word string) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, longest))
	if err != nil && len(answer) == 0 {
		return "", err
	}
	return string(answer), nil
}
