package doctor

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	// patience bounds one word: a paused server never answers.
	patience = 3 * time.Second
	// longest is how much of an answer is read: cons has a line for each client.
	longest = 64 << 20
)

// words are those that are asked. gtmk is harmless, and hardly any list names it: a server
// that answers it allows all words.
//
// read only
var words = []string{"srvr", "mntr", "conf", "cons", "dirs", "isro", "gtmk"}

// Ask asks the servers at addresses, concurrently. A server gets one word after the other,
// so that the questions do not fill the limit of connections.
func Ask(ctx context.Context, addresses []string) []*Server {
	out := make([]*Server, len(addresses))
	var asking sync.WaitGroup
	for i, address := range addresses {
		// Waited for below; ends when the server has answered, or patience is over.
		asking.Go(func() { out[i] = askServer(ctx, address) })
	}
	asking.Wait()
	return out
}

func askServer(ctx context.Context, address string) *Server {
	s := &Server{Address: address, Words: map[string]string{}}
	for _, word := range words {
		answer, err := askWord(ctx, address, word)
		switch {
		case err != nil && word == words[0]:
			s.Err = err
			return s
		case strings.Contains(answer, "not in the whitelist"):
			s.Refused = append(s.Refused, word)
		case err != nil || answer == "":
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
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
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
