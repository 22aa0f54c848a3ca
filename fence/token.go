package fence

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Token is a fencing token. Tokens are ordered by Epoch, then by Number. The zero
// Token stands for no token: it is lower than every valid token, and receivers
// refuse it.
type Token struct {
	// Epoch numbers the incarnations of the ensemble: it is higher for an ensemble
	// that was recreated empty, or restored from a backup, than before. At least 1.
	Epoch int64
	// Number grows with every grant at the same path within an epoch: the Token
	// method of session.Held. At least 1.
	Number int64
}

// Compare returns -1 if t is lower than u, 0 if they are equal, and 1 if t is higher.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(t.Epoch, u.Epoch), cmp.Compare(t.Number, u.Number))
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t == Token{} }

// Validate returns an error that wraps ErrInvalidArgument unless both numbers of t are
// at least 1.
func (t Token) Validate() error {
	switch {
	case t.Epoch < 1:
		return fmt.Errorf("fence: token: %w: epoch must be at least 1, got %d", ErrInvalidArgument, t.Epoch)
	case t.Number < 1:
		return fmt.Errorf("fence: token: %w: number must be at least 1, got %d", ErrInvalidArgument, t.Number)
	}
	return nil
}

// String returns the text of t: the epoch, a hyphen and the number, both in decimal
// without leading zeros. The text of a valid token has 3 to 39 bytes.
func (t Token) String() string {
	return strconv.FormatInt(t.Epoch, 10) + "-" + strconv.FormatInt(t.Number, 10)
}

// ParseToken parses the text of a valid token, exactly as String writes it: each token
// has one text. The error wraps ErrInvalidArgument.
func ParseToken(text string) (Token, error) {
	epoch, number, _ := strings.Cut(text, "-")
	var t Token
	var errEpoch, errNumber error
	t.Epoch, errEpoch = strconv.ParseInt(epoch, 10, 64)
	t.Number, errNumber = strconv.ParseInt(number, 10, 64)
	if errEpoch != nil || errNumber != nil || t.Validate() != nil || t.String() != text {
		return Token{}, fmt.Errorf("fence: token: %w: the text must be <epoch>-<number>, both decimal and at least 1, got %.60q",
			ErrInvalidArgument, text)
	}
	return t, nil
}

// MarshalText returns the text of String, and an error for an invalid token.
func (t Token) MarshalText() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return []byte(t.String()), nil
}

// UnmarshalText is [ParseToken].
func (t *Token) UnmarshalText(text []byte) error {
	parsed, err := ParseToken(string(text))
	if err == nil {
		*t = parsed
	}
	return err
}
