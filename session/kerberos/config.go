package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// maxIncludes bounds the depth of files that include files.
const maxIncludes = 10

var (
	sectionHeader = regexp.MustCompile(`^\[([^\]]+)\]`)                   // read only
	includedName  = regexp.MustCompile(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`) // read only
)

// sections are the lines of krb5.conf by section. gokrb5 keeps only the last of several
// sections of a name, and knows no include.
type sections map[string][]string

// loadConfig reads the configuration of files, as far as they exist.
func loadConfig(files []string) (*config.Config, error) {
	// As MIT Kerberos, and unlike gokrb5, look up a realm without KDCs in the DNS.
	lines := sections{"libdefaults": {"dns_lookup_kdc = true"}}
	var missing error
	read := 0
	for _, file := range files {
		err := lines.readFile(file, 0)
		switch {
		case err == nil:
			read++
		case errors.Is(err, fs.ErrNotExist):
			missing = err
		default:
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	if read == 0 {
		return nil, fmt.Errorf("%w: %w: set Options.ConfigFile or KRB5_CONFIG to the path of krb5.conf", ErrConfig, missing)
	}
	var text strings.Builder
	for _, name := range []string{"libdefaults", "realms", "domain_realm"} {
		fmt.Fprintf(&text, "[%s]\n%s\n", name, strings.Join(lines[name], "\n"))
	}
	var cfg *config.Config
	err := guard("the configuration", func() (err error) {
		cfg, err = config.NewFromString(text.String())
		return err
	})
	var unsupported config.UnsupportedDirective // settings of Kerberos 4, which do no harm
	if err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, strings.Join(files, ", "), err)
	}
	// Wrap tokens have another form with the older encryption types (RFC 4757), which are
	// weak.
	cfg.LibDefaults.DefaultTGSEnctypeIDs = slices.DeleteFunc(cfg.LibDefaults.DefaultTGSEnctypeIDs, func(id int32) bool { return !isAES(id) })
	if len(cfg.LibDefaults.DefaultTGSEnctypeIDs) == 0 {
		return nil, fmt.Errorf("%w: %s: default_tgs_enctypes has no AES type, such as aes256-cts-hmac-sha1-96", ErrConfig, strings.Join(files, ", "))
	}
	return cfg, nil
}

func isAES(id int32) bool {
	return id >= etypeID.AES128_CTS_HMAC_SHA1_96 && id <= etypeID.AES256_CTS_HMAC_SHA384_192
}

// readFile adds the lines of a file, and of the files that it includes.
func (s sections) readFile(path string, depth int) error {
	if depth > maxIncludes {
		return fmt.Errorf("%s: files include each other", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	section, nested := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		if len(fields) == 2 && (fields[0] == "include" || fields[0] == "includedir") {
			if err := s.include(fields[0], fields[1], depth); err != nil {
				return err
			}
			continue
		}
		if header := sectionHeader.FindStringSubmatch(line); header != nil {
			section, nested = header[1], 0
			continue
		}
		// Defaults of a single realm or application, which gokrb5 refuses.
		if section == "libdefaults" && strings.HasSuffix(line, "{") {
			nested++
		}
		if nested == 0 {
			s[section] = append(s[section], line)
		}
		if nested > 0 && strings.HasPrefix(line, "}") {
			nested--
		}
	}
	return nil
}

// include reads a file, or the files of a folder that have names of configuration files.
func (s sections) include(directive, path string, depth int) error {
	if directive == "include" {
		return s.readFile(path, depth+1)
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // as distributions ship it
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !includedName.MatchString(e.Name()) {
			continue
		}
		if err := s.readFile(filepath.Join(path, e.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// guard turns a panic of gokrb5 over malformed input into an error: its parsers index what
// they read without looking at the length first.
func guard(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s is malformed: %v", what, r)
		}
	}()
	return f()
}
