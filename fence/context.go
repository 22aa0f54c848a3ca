package fence

import "context"

// tokenKey is the key of a token in a context.
type tokenKey struct{}

// NewContext returns a copy of ctx with a token. Clients of packages httpfence and
// grpcfence send the token with each request of this context.
func NewContext(ctx context.Context, token Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// FromContext returns the token of ctx, as set by [NewContext] or by a server of
// packages httpfence and grpcfence, and whether ctx has one.
func FromContext(ctx context.Context) (Token, bool) {
	token, ok := ctx.Value(tokenKey{}).(Token)
	return token, ok
}
