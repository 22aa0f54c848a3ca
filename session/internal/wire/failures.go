package wire

import (
	"errors"
	"slices"
	"strings"
)

// failLocked notes why an attempt to connect has failed, until one succeeds. The errors of one
// round are kept: of several addresses the last one need not be the one that says what is
// wrong.
func (l *Link) failLocked(err error) {
	l.failures = append(l.failures, err)
	l.failures = slices.Delete(l.failures, 0, max(0, len(l.failures)-l.addresses))
}

// endsLink reports whether err is a server's verdict about the session, which no other
// connection would change.
func endsLink(err error) bool {
	for _, verdict := range []error{ErrExpired, ErrReplaced, ErrAuthFailed, ErrAuthRequired, ErrNoLocalSessions} {
		if errors.Is(err, verdict) {
			return true
		}
	}
	return false
}

// severalErrors are errors in one line, each text once.
type severalErrors []error

func (e severalErrors) Error() string {
	var texts []string
	for _, err := range e {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

func (e severalErrors) Unwrap() []error { return e }

// joinErrors is nil, the only one of errs, or all of them.
func joinErrors(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return severalErrors(slices.Clone(errs))
}
