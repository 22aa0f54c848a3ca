package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session/kerberos"
)

// App is one run of zkr: its streams, its environment and the global flags.
type App struct {
	Stdin            *os.File
	Stdout, Stderr   *os.File
	Getenv           func(string) string
	CompletionLimit  time.Duration // how long a completion waits for the servers
	Flags            Globals
	Async            asyncWriter       // writes the notes
	environmentFlags map[string]string // by flag: the variable that its value comes from
	login            *kerberos.Login   // nil: another scheme
}

// Globals are the flags that all subcommands share.
type Globals struct {
	Servers, Chroot                          string
	SessionTimeout, tickTime, ConnectTimeout time.Duration
	User, authFile, AuthScheme, acl          string
	Kerberos                                 KerberosFlags
	TLS, followEnsemble, readOnly            bool
	TLSCA, TLSCert, TLSKey                   string
	TLSServerName                            string
	Output                                   string
	verbose                                  bool
}

// Execute runs the command of root that args name, and returns the exit code.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.Async.flush()
	var f *exit.Failure
	if err != nil && !errors.As(err, &f) && !isCommandError(err) {
		// Cobra's own errors are about arguments.
		err = &exit.Failure{Code: exit.CodeUsage, Err: err, Hint: `"zkr help" lists the commands and flags`}
	}
	defer IgnoreBrokenPipes()() // the exit code counts, with or without a reader of the message
	asJSON := a.JSON()
	if exit.Classify(err).Code == exit.CodeUsage { // it may not have been read
		asJSON = a.wantsJSON(args)
	}
	return report(a.Stderr, asJSON, unmark(err))
}

// commandError is an error of a command, as opposed to cobra's.
type commandError struct{ error }

func (m commandError) Unwrap() error { return m.error }

func isCommandError(err error) bool {
	var m commandError
	return errors.As(err, &m)
}

func unmark(err error) error {
	var m commandError
	if errors.As(err, &m) {
		return m.error
	}
	return err
}

// RunE makes a command's body of fn.
func RunE(fn func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := fn(cmd, args); err != nil {
			return commandError{err}
		}
		return nil
	}
}

// Prepare gives root and its commands what all commands share: streams, global flags,
// help, completion, and one message for superfluous arguments.
func (a *App) Prepare(root *cobra.Command) {
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRunE = RunE(func(cmd *cobra.Command, _ []string) error {
		return a.fromEnvironment(cmd)
	})
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.showHelp)
	root.SetHelpCommand(a.help())
	a.globalFlags(root)
	OneOf(root, "output", "table", "json")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			CommandGroup(cmd)
			completionExamples(cmd)
		}
	}
	withoutArguments(root)
	a.completes(root)
}

// withoutArguments gives all commands without arguments the same error message.
func withoutArguments(cmd *cobra.Command) {
	if len(ArgumentNames(cmd)) == 0 && !IsCommandGroup(cmd) && !RunsCommand(cmd) {
		cmd.Args = noArguments
	}
	for _, sub := range cmd.Commands() {
		withoutArguments(sub)
	}
}

func (a *App) globalFlags(root *cobra.Command) {
	g, f := &a.Flags, root.PersistentFlags()
	f.StringVar(&g.Servers, "servers", "127.0.0.1:2181", "the servers, `host:port,...`; a chroot such as /app may follow the last port (ZKR_SERVERS)")
	f.BoolVar(&g.followEnsemble, "follow-ensemble", false, "use the servers of the ensemble's dynamic configuration, also when it changes; --servers only at the beginning (ZKR_FOLLOW_ENSEMBLE)")
	f.BoolVar(&g.readOnly, "read-only", false, "read from a server without a quorum while there is no other, which may be behind; writes wait (ZKR_READ_ONLY)")
	f.StringVar(&g.Chroot, "chroot", "", "`path` that all paths are below (ZKR_CHROOT)")
	f.DurationVar(&g.SessionTimeout, "session-timeout", 0, "session timeout; 0: zkr's choice (ZKR_SESSION_TIMEOUT)")
	f.DurationVar(&g.tickTime, "tick-time", 0, "the servers' tickTime, or more: a hold then outlasts a longer silence of a server; 0: unknown (ZKR_TICK_TIME)")
	f.DurationVar(&g.ConnectTimeout, "connect-timeout", 10*time.Second, "how long to try to connect (ZKR_CONNECT_TIMEOUT)")
	f.StringVar(&g.User, "user", "", "credentials, `user:password`; other users can read them in the process list: prefer ZKR_AUTH or --auth-file")
	f.StringVar(&g.authFile, "auth-file", "", "`file` with user:password in its first line (ZKR_AUTH_FILE)")
	f.StringVar(&g.AuthScheme, "auth-scheme", schemeDigest, "`scheme` of the credentials: digest, sasl for SASL's DIGEST-MD5, or kerberos (ZKR_AUTH_SCHEME)")
	f.StringVar(&g.acl, "acl", "", "access control `list` of the znodes that zkr creates: auth::cdrwa lets only the own credentials in; default: world:anyone:cdrwa, all clients (ZKR_ACL)")
	f.StringVar(&g.Kerberos.Keytab, "kerberos-keytab", "", "`file` with the key of --kerberos-principal; default: the ticket of kinit (ZKR_KERBEROS_KEYTAB)")
	f.StringVar(&g.Kerberos.Principal, "kerberos-principal", "", "`name` to log in with, such as app/host.example.org@EXAMPLE.ORG (ZKR_KERBEROS_PRINCIPAL)")
	f.StringVar(&g.Kerberos.Server, "kerberos-server", "", "`principal` of the servers, where _HOST stands for their name; default: zookeeper/_HOST (ZKR_KERBEROS_SERVER)")
	f.BoolVar(&g.Kerberos.KeepHostNames, "kerberos-keep-host-names", false, "_HOST is the name in --servers, not that of the address in the DNS (ZKR_KERBEROS_KEEP_HOST_NAMES)")
	f.BoolVar(&g.TLS, "tls", false, "connect with TLS (ZKR_TLS)")
	f.StringVar(&g.TLSCA, "tls-ca", "", "`file` of CA certificates, PEM; default: the system's (ZKR_TLS_CA)")
	f.StringVar(&g.TLSCert, "tls-cert", "", "`file` of the client's certificate, PEM (ZKR_TLS_CERT)")
	f.StringVar(&g.TLSKey, "tls-key", "", "`file` of the client's key, PEM (ZKR_TLS_KEY)")
	f.StringVar(&g.TLSServerName, "tls-server-name", "", "`name` in the servers' certificates; default: the host of each server (ZKR_TLS_SERVER_NAME)")
	f.StringVarP(&g.Output, "output", "o", "table", "`format`, table or json; with json errors are JSON too, on stderr (ZKR_OUTPUT)")
	f.BoolVar(&g.verbose, "verbose", false, "log to stderr what happens to the session (ZKR_VERBOSE)")
}

// FromEnvironment reports whether the value of a flag is that of an environment variable.
func (a *App) FromEnvironment(flag string) bool { return a.environmentFlags[flag] != "" }

// fromEnvironment fills in the global flags that the command line leaves open,
// and checks them.
func (a *App) fromEnvironment(cmd *cobra.Command) error {
	f := cmd.Flags()
	for _, name := range []string{
		"servers", "follow-ensemble", "read-only", "chroot", "session-timeout", "tick-time", "connect-timeout", "auth-file", "auth-scheme",
		"acl", "kerberos-keytab", "kerberos-principal", "kerberos-server", "kerberos-keep-host-names", "tls", "tls-ca", "tls-cert", "tls-key",
		"tls-server-name", "output", "verbose",
	} {
		key := "ZKR_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := a.Getenv(key)
		if value == "" || f.Changed(name) {
			continue
		}
		if err := f.Set(name, value); err != nil {
			if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
				return badValue(key, bad)
			}
			return exit.Usage("%s: %w", key, err)
		}
		if a.environmentFlags == nil {
			a.environmentFlags = map[string]string{}
		}
		a.environmentFlags[name] = key
	}
	switch g := &a.Flags; {
	case !slices.Contains([]string{"table", "json"}, g.Output):
		bad := g.Output
		g.Output = "table"
		return exit.Usage("%s is %q; it must be table or json", a.flagSource("output"), bad)
	case g.ConnectTimeout <= 0:
		return exit.Usage("%s is %v; it must be above 0", a.flagSource("connect-timeout"), g.ConnectTimeout)
	case g.SessionTimeout < 0:
		return exit.Usage("%s is %v; it must be 0 (zkr's choice) or more", a.flagSource("session-timeout"), g.SessionTimeout)
	case g.tickTime < 0:
		return exit.Usage("%s is %v; it must be 0 (unknown) or more", a.flagSource("tick-time"), g.tickTime)
	case (g.TLSCert == "") != (g.TLSKey == ""):
		return exit.Usage("%s and %s belong together; one of them is missing", a.flagSource("tls-cert"), a.flagSource("tls-key"))
	case !g.TLS && (g.TLSCA != "" || g.TLSCert != "" || g.TLSServerName != ""):
		return exit.Usage("%s, %s, %s and %s need %s", a.flagSource("tls-ca"), a.flagSource("tls-cert"), a.flagSource("tls-key"), a.flagSource("tls-server-name"), a.flagSource("tls"))
	}
	return nil
}

// flagSource names the source of a global flag: the flag itself, or its variable.
func (a *App) flagSource(flag string) string { return OrElse(a.environmentFlags[flag], dashed(flag)) }

// JSON reports whether programs read the output.
func (a *App) JSON() bool { return a.Flags.Output == "json" }
