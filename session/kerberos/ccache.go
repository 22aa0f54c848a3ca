package kerberos

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// cacheFile is the path of a credential cache: name, or $KRB5CCNAME, or the file that kinit
// writes by default.
func cacheFile(name string) (string, error) {
	if name == "" {
		name = os.Getenv("KRB5CCNAME")
	}
	if name == "" {
		name = "/tmp/krb5cc_" + strconv.Itoa(os.Getuid())
	}
	kind, path, hasKind := strings.Cut(name, ":")
	switch {
	case !hasKind || len(kind) == 1: // a drive of Windows
		return name, nil
	case kind == "FILE":
		return path, nil
	}
	return "", fmt.Errorf("%w: the credential cache is %q; it must be a file (FILE:PATH): set KRB5CCNAME for kinit", ErrInvalidArgument, name)
}

// readCache reads the ticket-granting ticket of a credential cache.
func readCache(file string) (*ticket, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: credential cache: %w: run kinit", ErrCredentials, err)
	}
	out, err := parseCache(data)
	if err != nil {
		return nil, fmt.Errorf("%w: credential cache %s: %w: run kinit", ErrCredentials, file, err)
	}
	if late := time.Since(out.end); late > 0 {
		return nil, fmt.Errorf("%w: the ticket of %s in %s expired %v ago: run kinit, or let k5start renew the ticket",
			ErrCredentials, out.client, file, late.Round(time.Second))
	}
	return out, nil
}
