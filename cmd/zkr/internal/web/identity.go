package web

import (
	"context"
	"net/http"
)

// Identity is the user of an authenticated request.
type Identity struct {
	// User is the user's name, which is never empty.
	User string
	// Valid reports whether the request would still be accepted. A stream calls
	// Valid about every 15 seconds, and ends if the answer is false. Default:
	// always true.
	Valid func() bool
}

// identityKey is the key of an Identity in a context.
type identityKey struct{}

// WithIdentity returns r with the user whom an authenticating handler has accepted.
func WithIdentity(r *http.Request, id Identity) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), identityKey{}, id))
}

// IdentityOf returns the user of a request; false if the request was not
// authenticated.
func IdentityOf(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// User returns the user's name; "" if the request was not authenticated.
func User(ctx context.Context) string {
	id, _ := IdentityOf(ctx)
	return id.User
}

// isStillValid reports whether a request with this context would still be accepted.
func isStillValid(ctx context.Context) bool {
	id, ok := IdentityOf(ctx)
	return !ok || id.Valid == nil || id.Valid()
}
