package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// app is one run of zkr: its streams, its environment and the global flags.
type app struct {
	stdin          *os.File
	stdout, stderr *os.File
	env            func(string) string
	flags          globals
}

// globals are the flags that all subcommands share.
type globals struct {
	servers, chroot                string
	sessionTimeout, connectTimeout time.Duration
	user, authFile                 string
	tls                            bool
	tlsCA, tlsCert, tlsKey         string
	tlsServerName                  string
	output                         string
	verbose                        bool
}

const exitHelp = `
Exit codes:
  0      all went well
  1      anything else; "zkr demo": something did not hold
  64     wrong arguments
  69     no server could be reached, or none answered
  75     "zkr lock": busy (--try), or not acquired in time (--timeout)
  76     "zkr lock": lost while the command ran; the command was stopped
  77     the servers refuse the credentials, or a znode's ACL does
  126    "zkr lock": the command cannot be run
  127    "zkr lock": there is no such command
  128+n  ended by signal n: "zkr lock" while it waited, or its command
"zkr lock PATH -- CMD" otherwise exits as CMD does.`

// run runs zkr and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var f *failure
	if err != nil && !errors.As(err, &f) && !ours(err) {
		// Cobra's own errors are about arguments.
		err = &failure{code: exitUsage, err: err, hint: `"zkr help" lists the commands and flags`}
	}
	return report(a.stderr, a.flags.output == "json", unmark(err))
}

// marked is an error of a command, as opposed to cobra's.
type marked struct{ error }

func (m marked) Unwrap() error { return m.error }

func ours(err error) bool {
	var m marked
	return errors.As(err, &m)
}

func unmark(err error) error {
	var m marked
	if errors.As(err, &m) {
		return m.error
	}
	return err
}

// does makes a command's body of fn.
func does(fn func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := fn(cmd, args); err != nil {
			return marked{err}
		}
		return nil
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "zkr",
		Short: "Locks on ZooKeeper: run commands under them, look at them, see them lost and fenced",
		Long: "zkr runs commands under locks that live in ZooKeeper, shows who holds and who waits,\n" +
			"and demonstrates what a lock can promise. Start with: zkr demo\n" + exitHelp,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: does(func(cmd *cobra.Command, _ []string) error {
			return a.fromEnvironment(cmd)
		}),
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &failure{code: exitUsage, err: err, hint: fmt.Sprintf("%q lists the flags", cmd.CommandPath()+" --help")}
	})
	a.globalFlags(root)
	root.AddCommand(a.demo(), a.demoWorker(), a.lock(), a.serve(), a.version())
	return root
}

func (a *app) globalFlags(root *cobra.Command) {
	g, f := &a.flags, root.PersistentFlags()
	f.StringVar(&g.servers, "servers", "127.0.0.1:2181", "servers, `host:port,host:port/chroot` (ZKR_SERVERS)")
	f.StringVar(&g.chroot, "chroot", "", "`path` that all paths are below (ZKR_CHROOT)")
	f.DurationVar(&g.sessionTimeout, "session-timeout", 0, "session timeout; 0: zkr's choice (ZKR_SESSION_TIMEOUT)")
	f.DurationVar(&g.connectTimeout, "connect-timeout", 10*time.Second, "how long to try to connect (ZKR_CONNECT_TIMEOUT)")
	f.StringVar(&g.user, "user", "", "digest credentials, `user:password`; others see it in the process list: prefer ZKR_AUTH or --auth-file")
	f.StringVar(&g.authFile, "auth-file", "", "`file` with user:password in its first line (ZKR_AUTH_FILE)")
	f.BoolVar(&g.tls, "tls", false, "connect with TLS (ZKR_TLS)")
	f.StringVar(&g.tlsCA, "tls-ca", "", "`file` of CA certificates, PEM; default: the system's (ZKR_TLS_CA)")
	f.StringVar(&g.tlsCert, "tls-cert", "", "`file` of the client's certificate, PEM (ZKR_TLS_CERT)")
	f.StringVar(&g.tlsKey, "tls-key", "", "`file` of the client's key, PEM (ZKR_TLS_KEY)")
	f.StringVar(&g.tlsServerName, "tls-server-name", "", "`name` in the servers' certificates; default: each one's host (ZKR_TLS_SERVER_NAME)")
	f.StringVarP(&g.output, "output", "o", "table", "`table|json`; with json errors are JSON too, on stderr (ZKR_OUTPUT)")
	f.BoolVar(&g.verbose, "verbose", false, "log to stderr what happens to the session (ZKR_VERBOSE)")
}

// fromEnvironment fills in the global flags that the command line leaves open,
// and checks them.
func (a *app) fromEnvironment(cmd *cobra.Command) error {
	f := cmd.Flags()
	for _, name := range []string{
		"servers", "chroot", "session-timeout", "connect-timeout", "auth-file", "tls", "tls-ca", "tls-cert",
		"tls-key", "tls-server-name", "output", "verbose",
	} {
		key := "ZKR_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := a.env(key)
		if value == "" || f.Changed(name) {
			continue
		}
		if err := f.Set(name, value); err != nil {
			return usage("%s=%s: %w", key, value, err)
		}
	}
	switch g := &a.flags; {
	case !slices.Contains([]string{"table", "json"}, g.output):
		bad := g.output
		g.output = "table"
		return usage("--output is %q; it must be table or json", bad)
	case g.connectTimeout <= 0:
		return usage("--connect-timeout is %v; it must be above 0", g.connectTimeout)
	case g.sessionTimeout < 0:
		return usage("--session-timeout is %v; it must be 0 (zkr's choice) or more", g.sessionTimeout)
	case (g.tlsCert == "") != (g.tlsKey == ""):
		return usage("--tls-cert and --tls-key belong together; one of them is missing")
	case !g.tls && (g.tlsCA != "" || g.tlsCert != "" || g.tlsServerName != ""):
		return usage("--tls-ca, --tls-cert, --tls-key and --tls-server-name need --tls")
	}
	return nil
}

// json reports whether programs read the output.
func (a *app) json() bool { return a.flags.output == "json" }

// note tells people something on w, in zkr's name.
func note(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "zkr: "+format+"\n", args...)
}
