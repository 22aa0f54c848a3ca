package httpfence

import (
	"fmt"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Transport is an http.RoundTripper that sends the token of the request's context, as set
// by fence.NewContext, in the header [Header]. Requests without a token are sent unchanged.
// The zero Transport is ready for use.
type Transport struct {
	// Base sends the requests; default: http.DefaultTransport.
	Base http.RoundTripper
}

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements http.RoundTripper. An invalid token is an error that wraps
// fence.ErrInvalidArgument; nothing is sent then.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	token, ok := fence.FromContext(r.Context())
	if !ok {
		return base.RoundTrip(r)
	}
	if err := token.Validate(); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper must
		}
		return nil, fmt.Errorf("httpfence: %s %s: %w", r.Method, r.URL.Path, err)
	}
	r = r.Clone(r.Context()) // a RoundTripper must not change its argument
	r.Header.Set(Header, token.String())
	return base.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of Base, for http.Client.
func (t *Transport) CloseIdleConnections() {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if c, ok := base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// CheckResponse returns a *fence.StaleError, which wraps fence.ErrStale, if the server has
// refused the token of the request, and nil for every other response, including other
// failures. The body is not read.
func CheckResponse(resp *http.Response) error {
	if resp.StatusCode != http.StatusPreconditionFailed {
		return nil
	}
	highest, err := fence.ParseToken(resp.Header.Get(Header))
	if err != nil {
		return nil //nolint:nilerr // another condition of the request has failed
	}
	stale := &fence.StaleError{Highest: highest}
	if r := resp.Request; r != nil {
		stale.Resource = r.URL.Path
		stale.Token, _ = fence.ParseToken(r.Header.Get(Header)) // the zero Token if the caller has removed it
	}
	return stale
}
