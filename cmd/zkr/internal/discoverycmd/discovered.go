package discoverycmd

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// Member is a discovery.Member in JSON.
type Member struct {
	ID      string `json:"id"`
	Path    string `json:"path"`
	Token   int64  `json:"token,string"`
	Session string `json:"session"` // hexadecimal; "" for a foreign znode without a session
	cli.Content
	Since time.Time `json:"since"` // joined, by the server's clock
	data  []byte
}

func memberOf(m discovery.Member) Member {
	return Member{
		ID: m.ID, Path: m.Path, Token: m.Token, Session: cli.SessionID(m.Session), Since: m.Since,
		Content: cli.ContentOf(m.Data), data: m.Data,
	}
}

// Instance is a discovery.Instance in JSON.
type Instance struct {
	Service    string          `json:"service"`
	ID         string          `json:"id"`
	State      string          `json:"state"`           // enabled, disabled, malformed
	Error      string          `json:"error,omitempty"` // why the znode's data is not an instance
	Address    string          `json:"address"`
	Port       int             `json:"port"`
	SSLPort    int             `json:"ssl_port"`
	Payload    json.RawMessage `json:"payload"`
	Registered *time.Time      `json:"registered"` // by the clock of the registering client
	Type       string          `json:"type"`
	URISpec    string          `json:"uri_spec"`
	Enabled    bool            `json:"enabled"`
	Path       string          `json:"path"`
	Token      int64           `json:"token,string"`
}

func instanceOf(i discovery.Instance) Instance {
	out := Instance{
		Service: i.Service, ID: i.ID, State: "enabled", Address: i.Address, Port: i.Port, SSLPort: i.SSLPort, Payload: i.Payload,
		Registered: &i.RegistrationTime, Type: i.Type.String(), URISpec: i.URISpec, Enabled: !i.Disabled, Path: i.Path, Token: i.Token,
	}
	switch {
	case i.Err != nil:
		return Instance{Service: i.Service, ID: i.ID, State: "malformed", Error: i.Err.Error(), Path: i.Path, Token: i.Token}
	case i.Disabled:
		out.State = "disabled"
	}
	return out
}

// columns are the instance's in a table.
func (i Instance) columns() []string {
	out := []string{cli.Readable([]byte(i.ID)), i.State}
	if i.Error != "" {
		return append(out, "-", "-", "-", "-", "-", cli.Readable([]byte(i.Error)))
	}
	port := func(n int) string {
		if n == 0 {
			return "-"
		}
		return strconv.Itoa(n)
	}
	payload := string(i.Payload)
	if payload == "null" {
		payload = ""
	}
	return append(out, cli.OrElse(cli.Readable([]byte(i.Address)), "-"), port(i.Port), port(i.SSLPort), i.Type, cli.LocalTime(*i.Registered),
		cli.OrElse(cli.Preview([]byte(payload), cli.PreviewWidth), "-"))
}
