package discoverycmd

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// Columns of the tables.
const (
	InstanceColumns = "ID STATE ADDRESS PORT SSL-PORT TYPE REGISTERED PAYLOAD"
	OfferColumns    = "SERVICE INSTANCES"
)

const serviceHelp = `The instances of services, in the format of Curator's service discovery: a znode for
each service below --base (by default /services), and a znode for each instance
below the service's znode.
`

// serviceCommand is shared by the commands of "zkr service".
type serviceCommand struct {
	app  *app
	base string
}

// service is "zkr service".
func (a *app) service() *cobra.Command {
	c := &serviceCommand{app: a}
	parent := cli.CommandGroup(&cobra.Command{
		Use:   "service",
		Short: "Show services and their instances; register an instance while a command runs",
		Long:  serviceHelp,
		Example: "  zkr service ls\n" +
			"  zkr service watch web\n" +
			"  zkr service register web --id web-1 --address 10.0.0.7 --port 8080 -- ./server",
	}, c.list(), c.watch(), c.register())
	for _, sub := range parent.Commands() {
		sub.ValidArgsFunction = a.CompleteNames(func(ctx context.Context, client *session.Client) ([]string, error) {
			return discovery.NewRegistry(client, c.base, nil).Services(ctx)
		})
	}
	parent.PersistentFlags().StringVar(&c.base, "base", "/services", "`path` that the services are below")
	return parent
}

// checkBase checks --base.
func (c *serviceCommand) checkBase() error {
	if err := cli.CheckPath(c.base); err != nil {
		return exit.Usage("--base: %w", err)
	}
	return nil
}

// check checks base and service.
func (c *serviceCommand) check(service string) error {
	if err := c.checkBase(); err != nil {
		return err
	}
	if !cli.IsNodeName(service) {
		return cli.InvalidName("SERVICE", service)
	}
	return nil
}

// list is "zkr service ls".
func (c *serviceCommand) list() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls [SERVICE]",
		Short:       "List the services, or the instances of SERVICE in the order of their registration",
		Long: "Shows the services below --base, and how many instances each has; or the instances of\n" +
			"SERVICE. STATE is enabled, disabled, or malformed (the znode's data is not an\n" +
			"instance). REGISTERED is by the clock of the client that registered the instance.",
		Example: "  zkr service ls\n" +
			"  zkr service ls web --base /discovery\n" +
			"  zkr service ls web -o json | jq -r '.instances[] | select(.enabled) | \"\\(.address):\\(.port)\"'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return cli.Arguments("service", "SERVICE")(cmd, args)
		},
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listServices(cmd.Context())
			}
			if err := c.check(args[0]); err != nil {
				return err
			}
			var found []discovery.Instance
			if err := c.app.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				found, err = discovery.NewRegistry(client, c.base, nil).Instances(ctx, args[0])
				return err
			}); err != nil {
				return err
			}
			return c.app.showInstances(args[0], found)
		}),
	}
}

// Offer is a service in JSON.
type Offer struct {
	Service   string `json:"service"`
	Instances int    `json:"instances"`
}

func (c *serviceCommand) listServices(ctx context.Context) error {
	if err := c.checkBase(); err != nil {
		return err
	}
	list := []Offer{}
	if err := c.app.Call(ctx, func(ctx context.Context, client *session.Client) error {
		counts, err := discovery.NewRegistry(client, c.base, nil).ServiceCounts(ctx)
		for _, count := range counts {
			list = append(list, Offer{count.Service, count.Instances})
		}
		return err
	}); err != nil {
		return err
	}
	if c.app.JSON() {
		return c.app.PrintJSON(struct {
			Base     string  `json:"base"`
			Services []Offer `json:"services"`
		}{c.base, list})
	}
	if len(list) == 0 {
		return c.app.NoteEmpty("there are no services below %s", c.base)
	}
	rows := make([][]string, 0, len(list))
	for _, o := range list {
		rows = append(rows, []string{cli.Readable([]byte(o.Service)), strconv.Itoa(o.Instances)})
	}
	return c.app.Table(OfferColumns, rows)
}

func (a *app) showInstances(service string, found []discovery.Instance) error {
	list := make([]Instance, 0, len(found))
	for _, i := range found {
		list = append(list, instanceOf(i))
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Service   string     `json:"service"`
			Instances []Instance `json:"instances"`
		}{service, list})
	}
	if len(list) == 0 {
		return a.NoteEmpty("the service %s has no instances", service)
	}
	rows := make([][]string, 0, len(list))
	for _, i := range list {
		rows = append(rows, i.columns())
	}
	return a.Table(InstanceColumns, rows)
}
