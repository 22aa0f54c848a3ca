package uicmd

import (
	"errors"
	"net/http"

	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/webconfig"
)

// access has the flags that say which clients may read.
type access struct {
	remote, noAuth    bool
	webConfig, header string
	proxies           []string
	// file and proxy are set by check; nil if not wanted.
	file  *webconfig.File
	proxy *web.Proxy
}

func (c *access) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&c.remote, "allow-remote", false, "listen on an address that other machines can reach; needs --web-config, --trust-header or --no-auth")
	f.StringVar(&c.webConfig, webconfig.Flag, "", webconfig.Usage)
	f.StringVar(&c.header, "trust-header", "", "`name` of the header in which an authenticating proxy names the user")
	f.StringSliceVar(&c.proxies, "trusted-proxies", nil, "`networks` (CIDR) or addresses of the proxies whose --trust-header counts; default: this machine")
	f.BoolVar(&c.noAuth, "no-auth", false, "with --allow-remote: let every client read, without authentication")
}

// errUnprotected: other machines could read without authentication.
var errUnprotected = errors.New("--allow-remote without authentication")

// check checks the flags, and opens the file.
func (c *access) check() error {
	var err error
	if c.file, err = webconfig.Open(c.webConfig); err != nil {
		return exit.Usage("--web-config: %w", err)
	}
	if c.header != "" {
		if c.proxy, err = web.NewProxy(c.header, nil); err != nil {
			return exit.Usage("--trust-header: %w", err)
		}
		if c.proxy, err = web.NewProxy(c.header, c.proxies); err != nil {
			return exit.Usage("--trusted-proxies: %w", err)
		}
	}
	switch {
	case c.header == "" && len(c.proxies) > 0:
		return exit.Usage("--trusted-proxies needs --trust-header")
	case c.header != "" && c.file.HasUsers():
		return exit.Usage("--trust-header and the basic_auth_users of --web-config exclude each other")
	case c.noAuth && !c.remote:
		return exit.Usage("--no-auth needs --allow-remote")
	case c.noAuth && c.authenticates():
		return exit.Usage("--no-auth contradicts the authentication by --web-config or --trust-header")
	case c.remote && !c.noAuth && !c.authenticates():
		return &exit.Failure{
			Code: exit.CodeUsage, Err: errUnprotected,
			Hint: "give --web-config with basic_auth_users, or --trust-header; --no-auth lets every client read everything that zkr may read",
		}
	}
	return nil
}

// authenticates reports whether every client is authenticated.
func (c *access) authenticates() bool { return c.proxy != nil || c.file.Authenticates() }

// namesUsers reports whether every client has a user's name.
func (c *access) namesUsers() bool { return c.proxy != nil || c.file.HasUsers() }

// warning is what the operator should know about the flags; "" if there is nothing.
func (c *access) warning() string {
	switch {
	case c.noAuth:
		return "--no-auth: any client that reaches the page can read everything that zkr may read"
	case c.remote && c.file.HasUsers() && !c.file.Encrypts():
		return "passwords are sent without encryption: add tls_server_config to the file of --web-config, or use a proxy with TLS"
	}
	return ""
}

// protect answers only requests of authenticated clients.
func (c *access) protect(next http.Handler) http.Handler {
	if c.proxy != nil {
		next = c.proxy.Authenticate(next)
	}
	return c.file.Handler(next)
}
