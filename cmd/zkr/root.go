package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one run of zkr: its streams, its environment and the global flags.
type app struct {
	stdin          *os.File
	stdout, stderr *os.File
	env            func(string) string
	tab            time.Duration // how long who has pressed Tab waits for servers
	flags          globals
	aside          aside
	given          map[string]string // the variables that flags' values come from, by flag
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

// run runs zkr and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(withNumbers(root, args))
	err := root.ExecuteContext(ctx)
	a.aside.settle()
	var f *failure
	if err != nil && !errors.As(err, &f) && !ours(err) {
		// Cobra's own errors are about arguments.
		err = &failure{code: exitUsage, err: err, hint: `"zkr help" lists the commands and flags`}
	}
	defer listenForBrokenPipes()() // the exit code counts, whether or not somebody reads why
	asJSON := a.json()
	if classify(err).code == exitUsage { // it may not have been read
		asJSON = a.wantsJSON(args)
	}
	return report(a.stderr, asJSON, unmark(err))
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

const rootHelp = `zkr runs commands under locks, as a leader, together with others or as a member,
which live in ZooKeeper; shows who holds, leads, waits and is there; and demonstrates
what a lock can promise. Start with: zkr demo

The flags of all commands may also come from the environment, by the names that stand
in parentheses; the command line goes first. ZKR_AUTH is user:password, which no
process list shows. Times are written as 500ms, 10s, 5m or 2h. What is shown in colors
on a terminal is not if NO_COLOR is set.

With -o json all output is JSON, one object per line. What zkr remarks is on stderr,
and so is what it says of a list that is empty.`

func (a *app) root() *cobra.Command {
	root := family(&cobra.Command{
		Use:           "zkr",
		Short:         "Coordinate processes through ZooKeeper: locks, elections, barriers, counters, members, services, jobs, groups, tasks",
		Long:          rootHelp,
		SilenceErrors: true, SilenceUsage: true,
		Example: "  zkr demo\n  zkr serve &\n  zkr lock /locks/backup -- ./backup\n  zkr lock ls /locks/backup",
		PersistentPreRunE: does(func(cmd *cobra.Command, _ []string) error {
			return a.fromEnvironment(cmd)
		}),
	}, a.barrier(), a.counter(), a.demo(), a.demoWorker(), a.elect(), a.groupKeeper(), a.job(), a.lock(), a.manual(), a.master(), a.members(), a.rebalance(),
		a.rwlock(), a.serve(), a.service(), a.task(), a.tree(), a.ui(), a.version(), a.watch(), a.worker())
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.showHelp)
	root.SetHelpCommand(a.help())
	a.globalFlags(root)
	oneOf(root, "output", "table", "json")
	a.versionFlag(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			family(cmd)
			completionExamples(cmd)
		}
	}
	withoutArguments(root)
	a.completes(root)
	return root
}

// withoutArguments makes all commands that have no arguments say so alike.
func withoutArguments(cmd *cobra.Command) {
	if len(nouns(cmd)) == 0 && !isFamily(cmd) && !runsCommand(cmd) {
		cmd.Args = noArguments
	}
	for _, sub := range cmd.Commands() {
		withoutArguments(sub)
	}
}

func (a *app) globalFlags(root *cobra.Command) {
	g, f := &a.flags, root.PersistentFlags()
	f.StringVar(&g.servers, "servers", "127.0.0.1:2181", "the servers, `host:port,...`, and behind the last one perhaps the chroot, as /app (ZKR_SERVERS)")
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
	f.StringVarP(&g.output, "output", "o", "table", "`format`, table or json; with json errors are JSON too, on stderr (ZKR_OUTPUT)")
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
			if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
				return badValue(key, bad)
			}
			return usage("%s: %w", key, err)
		}
		if a.given == nil {
			a.given = map[string]string{}
		}
		a.given[name] = key
	}
	switch g := &a.flags; {
	case !slices.Contains([]string{"table", "json"}, g.output):
		bad := g.output
		g.output = "table"
		return usage("%s is %q; it must be table or json", a.named("output"), bad)
	case g.connectTimeout <= 0:
		return usage("%s is %v; it must be above 0", a.named("connect-timeout"), g.connectTimeout)
	case g.sessionTimeout < 0:
		return usage("%s is %v; it must be 0 (zkr's choice) or more", a.named("session-timeout"), g.sessionTimeout)
	case (g.tlsCert == "") != (g.tlsKey == ""):
		return usage("%s and %s belong together; one of them is missing", a.named("tls-cert"), a.named("tls-key"))
	case !g.tls && (g.tlsCA != "" || g.tlsCert != "" || g.tlsServerName != ""):
		return usage("%s, %s, %s and %s need %s", a.named("tls-ca"), a.named("tls-cert"), a.named("tls-key"), a.named("tls-server-name"), a.named("tls"))
	}
	return nil
}

// named is a global flag as it was given: by itself, or by its variable.
func (a *app) named(flag string) string { return or(a.given[flag], dashed(flag)) }

// json reports whether programs read the output.
func (a *app) json() bool { return a.flags.output == "json" }
