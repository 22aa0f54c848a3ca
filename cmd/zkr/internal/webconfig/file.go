package webconfig

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"go.yaml.in/yaml/v2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/time/rate"
)

// Flag is the name of the flag, and Usage its description.
const (
	Flag  = "web-config"
	Usage = "`file` with TLS certificates and passwords, in the format of the Prometheus exporter toolkit"
)

// File is a file with settings. A nil File has none: no TLS, no users.
type File struct {
	path string
	// These tell which protection the file had at the start. If the file has lost it
	// since, requests are refused.
	users, certificate, clients bool
	passwords                   *passwords
	limiter                     *rate.Limiter // nil: no limit
}

// Open reads and checks a file; nil for the path "".
func Open(path string) (*File, error) {
	if path == "" {
		return nil, nil
	}
	if err := toolkit.Validate(path); err != nil {
		return nil, err
	}
	f := &File{path: path, passwords: newPasswords(rand.Text())}
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	f.users = len(c.Users) > 0
	f.certificate = c.TLSConfig.IsEnabled()
	f.clients = c.TLSConfig.ClientAuth == "RequireAndVerifyClientCert"
	if limit := c.RateLimiterConfig; limit.Interval != 0 {
		f.limiter = rate.NewLimiter(rate.Every(limit.Interval), limit.Burst)
	}
	return f, nil
}

// read reads the file as it is now.
func (f *File) read() (*toolkit.Config, error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	// The toolkit's defaults.
	c := &toolkit.Config{
		TLSConfig:  toolkit.TLSConfig{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13},
		HTTPConfig: toolkit.HTTPConfig{HTTP2: true},
	}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("read %s: %w", f.path, err)
	}
	c.TLSConfig.SetDirectory(filepath.Dir(f.path))
	for name, hash := range c.Users {
		if name == "" {
			return nil, fmt.Errorf("read %s: a user has an empty name", f.path)
		}
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return nil, fmt.Errorf("read %s: the password of the user %q: %w", f.path, name, err)
		}
	}
	return c, nil
}

// HasUsers reports whether the file had users when it was opened.
func (f *File) HasUsers() bool { return f != nil && f.users }

// Encrypts reports whether connections use TLS.
func (f *File) Encrypts() bool { return f != nil && f.certificate }

// Authenticates reports whether every client needs a password, or a certificate
// that the server verifies.
func (f *File) Authenticates() bool { return f.HasUsers() || f != nil && f.clients }

// URL is the address of a listener for browsers.
func (f *File) URL(l net.Listener) string {
	if f.Encrypts() {
		return strings.Replace(web.URL(l), "http:", "https:", 1)
	}
	return web.URL(l)
}

// Listener accepts the connections of l, with TLS if the file has certificates.
func (f *File) Listener(l net.Listener) net.Listener {
	if !f.Encrypts() {
		return l
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.readTLS() },
	})
}

// readTLS reads the settings for a connection.
func (f *File) readTLS() (*tls.Config, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	config, err := toolkit.ConfigToTLSConfig(&c.TLSConfig)
	if err != nil {
		return nil, err
	}
	config.NextProtos = []string{"http/1.1"}
	if c.HTTPConfig.HTTP2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	return config, nil
}

// Handler answers only requests with the password of a user, if the file has users.
// It also adds the headers of the file that are not set yet, and applies its rate
// limit.
func (f *File) Handler(next http.Handler) http.Handler {
	if f == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := f.read()
		if err != nil {
			http.Error(w, "The file of --web-config cannot be read.", http.StatusInternalServerError)
			return
		}
		if f.limiter != nil && !f.limiter.Allow() {
			http.Error(w, "Too many requests.", http.StatusTooManyRequests)
			return
		}
		for name, value := range c.HTTPConfig.Header {
			if w.Header().Get(name) == "" {
				w.Header().Set(name, value)
			}
		}
		if f.clients && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
			http.Error(w, "A verified client certificate is needed.", http.StatusUnauthorized)
			return
		}
		switch {
		case len(c.Users) > 0:
			f.authenticate(w, r, c, next)
		case f.users:
			http.Error(w, "The file of --web-config has lost its users.", http.StatusInternalServerError)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// authenticate answers a request with the password of one of the file's users.
func (f *File) authenticate(w http.ResponseWriter, r *http.Request, c *toolkit.Config, next http.Handler) {
	hashes := make(map[string]string, len(c.Users))
	for name, hash := range c.Users {
		hashes[name] = string(hash)
	}
	name, password, given := r.BasicAuth()
	if given {
		switch right, err := f.passwords.verify(r.Context(), hashes, name, password); {
		case errors.Is(err, errBusy):
			w.Header().Set("Retry-After", "5")
			http.Error(w, "Too many attempts to log in.", http.StatusServiceUnavailable)
			return
		case err != nil:
			return // the client has gone
		case right:
			hash := hashes[name]
			next.ServeHTTP(w, web.WithIdentity(r, web.Identity{User: name, Valid: func() bool {
				now, err := f.read()
				return err == nil && string(now.Users[name]) == hash
			}}))
			return
		}
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="zkr", charset="UTF-8"`)
	http.Error(w, "A user and a password are needed.", http.StatusUnauthorized)
}
