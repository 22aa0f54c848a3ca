package discoverycmd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
)

// watch is "zkr service watch".
func (c *serviceCommand) watch() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "watch SERVICE",
		Short:       "Show the instances of a service, and each change",
		Long: `Shows the instances of a service, and then each change, with the time at which zkr
observed it. Lines say present (an instance when zkr started), added, updated or
removed; the line "ready" separates the first instances from the changes.` + cli.UntilEnded,
		Example: "  zkr service watch web\n  zkr service watch web -o json | jq -c 'select(.event == \"removed\") | .instance.id'",
		Args:    cli.Arguments("service", "SERVICE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if err := c.check(args[0]); err != nil {
				return err
			}
			return c.app.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				r := newListDiff(c.app, "instance")
				for list, err := range discovery.NewRegistry(client, c.base, nil).Watch(ctx, args[0]) {
					all := make([]listed, 0, len(list))
					for _, i := range list {
						one := instanceOf(i)
						state, bad := cli.Encode(one)
						if bad != nil {
							return bad
						}
						all = append(all, listed{
							key: i.Path + " " + strconv.FormatInt(i.Token, 10), state: string(state),
							text: strings.Join(one.columns(), "  "), json: ListEvent{Instance: &one},
						})
					}
					if err == nil {
						err = r.update(all)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
}

const registerHelp = `Registers an instance of SERVICE, runs CMD, and removes the instance when CMD has
ended. zkr renews the registration after a lost session, and if the znode is
deleted; CMD is not told and continues. If no server confirms that the instance is
removed, a note on stderr says so, and zkr exits as CMD did. If another client is
registered under this id, zkr exits with 75; with --wait zkr waits.

CMD's environment has ZKR_SERVICE_NAME, ZKR_SERVICE_ID and ZKR_SERVICE_PATH (the
instance's znode).

A static or permanent instance stays if zkr dies; other instances end with zkr's
session.
`

// serviceSpec has the arguments of "zkr service register".
type serviceSpec struct {
	supervise.RunSpec
	instance       discovery.Instance
	payload, types string
	opts           discovery.Options
}

// register is "zkr service register".
func (c *serviceCommand) register() *cobra.Command {
	var e serviceSpec
	cmd := &cobra.Command{
		Use:     "register SERVICE --id ID [flags] -- CMD [ARGS...]",
		Short:   "Register an instance of a service while a command runs",
		Long:    registerHelp,
		Example: "  zkr service register web --id web-1 --address 10.0.0.7 --port 8080 --payload '{\"zone\":\"a\"}' -- ./server",
		Args:    cli.BeforeCommand("service", "SERVICE"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			e.instance.Service, e.Argv = args[0], args[1:]
			if err := c.check(args[0]); err != nil {
				return err
			}
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			service, id := args[0], e.instance.ID
			e.Target = supervise.Target{
				Name:        fmt.Sprintf("the name %s in the service %s", id, service),
				ListCommand: fmt.Sprintf("\"zkr service ls %s --base %s\"", service, c.base), EnvPrefix: "ZKR_SERVICE", Renewed: true,
				Outlasts: e.instance.Type == discovery.Static || e.instance.Type == discovery.Permanent,
				Acquire: func(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
					g, err := discovery.NewRegistry(client, c.base, &e.opts).Register(ctx, e.instance)
					if err != nil {
						return nil, err
					}
					vars := []string{"ZKR_SERVICE_NAME=" + service, "ZKR_SERVICE_ID=" + id}
					return holdRegistered(ctx, c.app, g, service+"/"+id, vars, g.Unregister), nil
				},
			}
			return supervise.Run(cmd.Context(), c.app.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	f, i := cmd.Flags(), &e.instance
	f.StringVar(&i.ID, "id", "", "`name` of the instance")
	f.StringVar(&i.Address, "address", "", "`host` name or IP address")
	f.IntVar(&i.Port, "port", 0, "TCP `port`; 0: none")
	f.IntVar(&i.SSLPort, "ssl-port", 0, "TCP `port` that speaks TLS; 0: none")
	f.StringVar(&e.payload, "payload", "", "further data of the instance, as `JSON`")
	f.StringVar(&i.URISpec, "uri-spec", "", "`template` of the address, as \"{scheme}://{address}:{port}\"")
	f.StringVar(&e.types, "type", "dynamic", "the `type` of the registration: dynamic, sequential, static or permanent")
	cli.OneOf(cmd, "type", "dynamic", "sequential", "static", "permanent")
	f.BoolVar(&i.Disabled, "disabled", false, "register the instance as disabled: clients must not use it")
	f.BoolVar(&e.opts.Wait, "wait", false, "if another client is registered under this id, wait until that client has left")
	return cmd
}

func (e *serviceSpec) checkAll(cmd *cobra.Command) error {
	i := &e.instance
	t, ok := map[string]discovery.Type{
		"dynamic": discovery.Dynamic, "sequential": discovery.DynamicSequential, "static": discovery.Static, "permanent": discovery.Permanent,
	}[e.types]
	i.Type = t
	if e.payload != "" {
		i.Payload = json.RawMessage(e.payload)
	}
	switch {
	case !ok:
		return exit.Usage("--type is %q; it must be dynamic, sequential, static or permanent", e.types)
	case i.ID == "":
		return exit.Usage("--id is missing; it names the instance")
	case !cli.IsNodeName(i.ID):
		return cli.InvalidName("--id", i.ID)
	case i.Port < 0 || i.Port > 65535 || i.SSLPort < 0 || i.SSLPort > 65535:
		return exit.Usage("--port and --ssl-port must be from 0 (none) to 65535")
	case e.payload != "" && !json.Valid(i.Payload):
		return exit.Usage("--payload is not JSON: %s", cli.Preview(i.Payload, cli.PreviewWidth))
	}
	return e.Check(cmd)
}
