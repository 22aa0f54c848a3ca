package kerberos

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/messages"
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
	var cache *credentials.CCache
	var out *ticket
	err := guard("credential cache "+file, func() (err error) {
		if cache, err = credentials.LoadCCache(file); err != nil {
			return err
		}
		client := principal{cache.GetClientPrincipalName(), cache.GetClientRealm()}
		entry, ok := cache.GetEntry(ticketGranting(client.realm))
		if !ok {
			return fmt.Errorf("%s has no ticket-granting ticket of %s", file, client)
		}
		var message messages.Ticket
		if err := message.Unmarshal(entry.Ticket); err != nil {
			return fmt.Errorf("%s: ticket: %w", file, err)
		}
		begin := entry.StartTime
		if begin.Unix() == 0 {
			begin = entry.AuthTime
		}
		out = &ticket{message: message, key: entry.Key, client: client, begin: begin, end: entry.EndTime}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: credential cache: %w: run kinit", ErrCredentials, err)
	}
	if late := time.Since(out.end); late > 0 {
		return nil, fmt.Errorf("%w: the ticket of %s in %s expired %v ago: run kinit, or let k5start renew the ticket",
			ErrCredentials, out.client, file, late.Round(time.Second))
	}
	return out, nil
}
