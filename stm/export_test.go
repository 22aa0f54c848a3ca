package stm

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session"
)

// SettleForTest settles the doubt about a transaction with the marker at path,
// whose version was 0.
func SettleForTest(ctx context.Context, s *session.Session, path string) (string, error) {
	out, err := (&doubt{marker: &marker{path: path}}).findOutcome(ctx, s)
	return map[outcome]string{applied: "applied", notApplied: "not applied", unknown: "unknown"}[out], err
}
