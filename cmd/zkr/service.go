package main

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// instance is a discovery.Instance as "-o json" shows it.
type instance struct {
	Service    string          `json:"service"`
	ID         string          `json:"id"`
	State      string          `json:"state"`           // enabled, disabled, malformed
	Error      string          `json:"error,omitempty"` // the znode is no instance
	Address    string          `json:"address"`
	Port       int             `json:"port"`
	SSLPort    int             `json:"ssl_port"`
	Payload    json.RawMessage `json:"payload"`
	Registered *time.Time      `json:"registered"` // by the clock of who registered it
	Type       string          `json:"type"`
	URISpec    string          `json:"uri_spec"`
	Enabled    bool            `json:"enabled"`
	Path       string          `json:"path"`
	Token      int64           `json:"token"`
}

// Columns that tables show.
const (
	instanceColumns = "ID STATE ADDRESS PORT SSL-PORT TYPE REGISTERED PAYLOAD"
	offerColumns    = "SERVICE INSTANCES"
)

func instanceOf(i discovery.Instance) instance {
	out := instance{
		Service: i.Service, ID: i.ID, State: "enabled", Address: i.Address, Port: i.Port, SSLPort: i.SSLPort, Payload: i.Payload,
		Registered: &i.RegistrationTime, Type: i.Type.String(), URISpec: i.URISpec, Enabled: !i.Disabled, Path: i.Path, Token: i.Token,
	}
	switch {
	case i.Err != nil:
		return instance{Service: i.Service, ID: i.ID, State: "malformed", Error: i.Err.Error(), Path: i.Path, Token: i.Token}
	case i.Disabled:
		out.State = "disabled"
	}
	return out
}

// columns are the instance's in a table.
func (i instance) columns() []string {
	out := []string{readable([]byte(i.ID)), i.State}
	if i.Error != "" {
		return append(out, "-", "-", "-", "-", "-", readable([]byte(i.Error)))
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
	return append(out, or(readable([]byte(i.Address)), "-"), port(i.Port), port(i.SSLPort), i.Type, clock(*i.Registered),
		or(brief([]byte(payload), previewWidth), "-"))
}

const serviceHelp = `The instances of services, in the form of Curator's service discovery: below --base
(by default /services) a znode for each service, and below that one for each
instance.
`

// serviceCommand is what the commands of "zkr service" have in common.
type serviceCommand struct {
	app  *app
	base string
}

// service is "zkr service".
func (a *app) service() *cobra.Command {
	c := &serviceCommand{app: a}
	parent := family(&cobra.Command{
		Use:   "service",
		Short: "Show services and their instances; register one as long as a command runs",
		Long:  serviceHelp,
		Example: "  zkr service ls\n" +
			"  zkr service watch web\n" +
			"  zkr service register web --id web-1 --address 10.0.0.7 --port 8080 -- ./server",
	}, c.list(), c.watch(), c.register())
	for _, sub := range parent.Commands() {
		sub.ValidArgsFunction = a.completeNames(func(ctx context.Context, client *session.Client) ([]string, error) {
			return discovery.NewRegistry(client, c.base, nil).Services(ctx)
		})
	}
	parent.PersistentFlags().StringVar(&c.base, "base", "/services", "`path` that the services are below")
	return parent
}

// checkBase checks --base.
func (c *serviceCommand) checkBase() error {
	if err := checkPath(c.base); err != nil {
		return usage("--base: %w", err)
	}
	return nil
}

// check checks base and service.
func (c *serviceCommand) check(service string) error {
	if err := c.checkBase(); err != nil {
		return err
	}
	if !isName(service) {
		return badName("SERVICE", service)
	}
	return nil
}

// list is "zkr service ls".
func (c *serviceCommand) list() *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SERVICE]",
		Short: "Show the services, or the instances of one in the order in which they were registered",
		Long: "Shows the services below --base, and how many instances each has; or the instances of\n" +
			"SERVICE. STATE is enabled, disabled, or malformed: then the znode's data is no\n" +
			"instance. REGISTERED is by the clock of who registered it.",
		Example: "  zkr service ls\n" +
			"  zkr service ls web --base /discovery\n" +
			"  zkr service ls web -o json | jq -r '.instances[] | select(.enabled) | \"\\(.address):\\(.port)\"'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return arguments("service", "SERVICE")(cmd, args)
		},
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listServices(cmd.Context())
			}
			if err := c.check(args[0]); err != nil {
				return err
			}
			var found []discovery.Instance
			if err := c.app.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = discovery.NewRegistry(client, c.base, nil).Instances(ctx, args[0])
				return err
			}); err != nil {
				return err
			}
			return c.app.showInstances(args[0], found)
		}),
	}
}

// offer is a service as "-o json" shows it.
type offer struct {
	Service   string `json:"service"`
	Instances int32  `json:"instances"`
}

func (c *serviceCommand) listServices(ctx context.Context) error {
	if err := c.checkBase(); err != nil {
		return err
	}
	list := []offer{}
	if err := c.app.visit(ctx, func(ctx context.Context, client *session.Client) error {
		names, err := discovery.NewRegistry(client, c.base, nil).Services(ctx)
		if err != nil {
			return err
		}
		s, err := client.Session(ctx)
		if err != nil {
			return err
		}
		stats := make([]*session.Future[session.Seen], len(names))
		for i, name := range names {
			stats[i] = s.StartGet(strings.TrimSuffix(c.base, "/")+"/"+name, false)
		}
		for i, name := range names {
			seen, err := stats[i].Wait(ctx)
			if err != nil && !errors.Is(err, session.ErrNoNode) {
				return err
			}
			list = append(list, offer{name, seen.Stat.NumChildren})
		}
		return nil
	}); err != nil {
		return err
	}
	if c.app.json() {
		return c.app.line(struct {
			Base     string  `json:"base"`
			Services []offer `json:"services"`
		}{c.base, list})
	}
	if len(list) == 0 {
		return c.app.empty("there are no services below %s", c.base)
	}
	rows := make([][]string, 0, len(list))
	for _, o := range list {
		rows = append(rows, []string{readable([]byte(o.Service)), strconv.Itoa(int(o.Instances))})
	}
	return c.app.table(offerColumns, rows)
}

func (a *app) showInstances(service string, found []discovery.Instance) error {
	list := make([]instance, 0, len(found))
	for _, i := range found {
		list = append(list, instanceOf(i))
	}
	if a.json() {
		return a.line(struct {
			Service   string     `json:"service"`
			Instances []instance `json:"instances"`
		}{service, list})
	}
	if len(list) == 0 {
		return a.empty("the service %s has no instances", service)
	}
	rows := make([][]string, 0, len(list))
	for _, i := range list {
		rows = append(rows, i.columns())
	}
	return a.table(instanceColumns, rows)
}
