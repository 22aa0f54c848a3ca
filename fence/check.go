package fence

import (
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument: an argument, or a token that
	// arrived, is invalid; nothing was written.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrStale: the receiver has seen a higher token; nothing was written. errors.As
	// finds a [StaleError] with both tokens. Do not retry: another client has got
	// the hold since.
	ErrStale = errors.New("stale fencing token")
	// ErrNoToken: a request has no token, and the receiver requires one; nothing was
	// written.
	ErrNoToken = errors.New("no fencing token")
	// ErrCorruptEpoch: the data of the epoch's znode is not an epoch that can be used.
	// [Issuer.Advance] replaces such data; pass the highest epoch that receivers have
	// seen.
	ErrCorruptEpoch = errors.New("invalid epoch")
)

// StaleError is the error of a write that was refused because of its token. It wraps
// ErrStale.
type StaleError struct {
	// Resource is the receiver's name of the written resource.
	Resource string
	// Token came with the write.
	Token Token
	// Highest is the highest token that the receiver has seen for the resource.
	Highest Token
}

// Error names the resource and both tokens. If the epochs differ, the error says what
// an operator can do.
func (e *StaleError) Error() string {
	text := fmt.Sprintf("fence: write %s: %v: token %v is lower than %v, the highest seen", e.Resource, ErrStale, e.Token, e.Highest)
	if e.Token.Epoch < e.Highest.Epoch {
		text += "; its epoch is lower, too: the writer got its hold before the ensemble was recreated or restored;" +
			" if the hold is new, advance the ensemble's epoch beyond the highest seen"
	}
	return text
}

// Unwrap returns ErrStale.
func (e *StaleError) Unwrap() error { return ErrStale }

// Check is the rule of all receivers: a token is accepted if it is equal to or above
// highest, the highest token accepted so far for the resource; the zero Token stands
// for none. Otherwise the error is a *StaleError, or wraps ErrInvalidArgument if token
// is invalid or resource is empty.
//
// Check alone protects nothing: the check, the new highest token and the write must be
// one atomic step, as in [Memory.Do], [Update] and package sqlfence.
func Check(resource string, token, highest Token) error {
	if resource == "" {
		return fmt.Errorf("fence: check: %w: resource is empty", ErrInvalidArgument)
	}
	if err := token.Validate(); err != nil {
		return err
	}
	if token.Compare(highest) < 0 {
		return &StaleError{Resource: resource, Token: token, Highest: highest}
	}
	return nil
}
