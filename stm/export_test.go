package stm

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session"
)

// ResolveForTest finds out the outcome of a transaction with the marker at
// path, whose version was 0.
func ResolveForTest(ctx context.Context, s *session.Session, path string) (string, error) {
	out, err := (&pendingTxn{marker: &marker{path: path}}).findOutcome(ctx, s)
	return map[outcome]string{applied: "applied", notApplied: "not applied", unknown: "unknown"}[out], err
}
