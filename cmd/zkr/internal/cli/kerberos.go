package cli

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session/kerberos"
)

// KerberosFlags are the flags of the scheme kerberos.
type KerberosFlags struct {
	Keytab, Principal, Server string
	KeepHostNames             bool
}

// kerberosLogin is the login with the keytab, or with the ticket of kinit.
func (a *App) kerberosLogin() (*kerberos.Login, error) {
	f := a.Flags.Kerberos
	if (f.Keytab == "") != (f.Principal == "") {
		return nil, exit.Usage("%s and %s belong together; one of them is missing", a.flagSource("kerberos-keytab"), a.flagSource("kerberos-principal"))
	}
	o := &kerberos.Options{ServerPrincipal: f.Server, KeepHostNames: f.KeepHostNames}
	login, err := kerberos.CredentialCache("", o)
	if f.Keytab != "" {
		login, err = kerberos.Keytab(f.Principal, f.Keytab, o)
	}
	if err != nil {
		return nil, loginFailure(err)
	}
	return login, nil
}

// verifyLogin asks the KDC once: a session tries again as long as it may, since a KDC can
// come back, and a command should end at once.
func verifyLogin(ctx context.Context, login *kerberos.Login) error {
	if err := login.Verify(ctx); err != nil {
		return loginFailure(err)
	}
	return nil
}

// loginFailure gives an error of Kerberos its exit code.
func loginFailure(err error) error {
	f := &exit.Failure{Code: exit.CodeUsage, Err: err}
	switch {
	case errors.Is(err, kerberos.ErrKDCUnreachable):
		f.Code = exit.CodeUnavailable
	case errors.Is(err, kerberos.ErrCredentials), errors.Is(err, kerberos.ErrClockSkew):
		f.Code, f.Hint = exit.CodeDenied, "run kinit, or name a key with --kerberos-principal and --kerberos-keytab"
	}
	return f
}
