package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// AdminPort is the default port of the servers' admin servers.
	AdminPort = 8080
	// adminPatience bounds the question to an admin server: a firewall may drop it.
	adminPatience = 2 * time.Second
	// longestProperties is how much of the answer is read.
	longestProperties = 1 << 20
)

// Asking says how servers are asked.
type Asking struct {
	// Patience bounds each four-letter word: a paused server never answers.
	Patience time.Duration
	// AdminPort is the port of the admin servers; 0: they are not asked.
	AdminPort int
}

// adminClient asks admin servers, directly and on a connection for each question.
//
// read only
var adminClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// propertiesURL is where the admin server of the server at address shows the system properties,
// among which are settings that no four-letter word shows.
func propertiesURL(address string, port int) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/commands/system_properties"
}

// Admin is the answer of an admin server.
type Admin struct {
	Properties map[string]string
	// Date is the server's time, in whole seconds, when it answered, between From and To by the
	// clock of this machine; zero if it did not tell.
	Date, From, To time.Time
}

// askAdmin asks for the system properties of a server; nil if no admin server tells them. Any
// other program may answer on the port.
func askAdmin(ctx context.Context, url string) *Admin {
	from := time.Now()
	ctx, cancel := context.WithTimeout(ctx, adminPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil
	}
	response, err := adminClient.Do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, longestProperties))
	var answer map[string]any
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer["command"] != "system_properties" {
		return nil
	}
	out := &Admin{Properties: map[string]string{}, From: from, To: time.Now()}
	out.Date, _ = http.ParseTime(response.Header.Get("Date"))
	for key, value := range answer {
		if value != nil {
			out.Properties[key] = fmt.Sprint(value)
		}
	}
	return out
}
