package otel

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"go.opentelemetry.io/otel/attribute"
)

// errorType is the attribute of an error, by its class: see the package documentation.
// There is none for a nil error.
func errorType(err error) []attribute.KeyValue {
	if err == nil {
		return nil
	}
	return []attribute.KeyValue{attribute.String("error.type", classOf(err))}
}

// classOf is the class of an error, by the first sentinel that it wraps.
func classOf(err error) string {
	for _, c := range []struct {
		class     string
		sentinels []error
	}{
		{"expired", []error{session.ErrExpired}},
		{"trust_ran_out", []error{session.ErrTrustRanOut}},
		{"node_deleted", []error{session.ErrNodeDeleted}},
		{"closed", []error{session.ErrClosed}},
		{"unknown_outcome", []error{session.ErrUnknownOutcome}},
		{"deadline", []error{context.DeadlineExceeded}},
		{"canceled", []error{context.Canceled}},
		{"refused", []error{
			session.ErrRefused, session.ErrNoAuth, session.ErrAuthFailed, session.ErrQuotaExceeded,
			session.ErrThrottled, session.ErrReadOnly, session.ErrUnsupported, session.ErrInvalidACL,
		}},
		{"invalid_argument", []error{session.ErrInvalidArgument}},
		{"lost", []error{session.ErrLost}},
	} {
		for _, s := range c.sentinels {
			if errors.Is(err, s) {
				return c.class
			}
		}
	}
	if session.IsConnectionLoss(err) {
		return "connection_lost"
	}
	return "_OTHER"
}

// resultOrDeclined is resultOf for what may have been declined.
func resultOrDeclined(err error, declined bool) attribute.KeyValue {
	if declined {
		return attribute.String("zkrecipes.result", "declined")
	}
	return resultOf(err)
}

// resultOf is the result of an operation other than a wait.
func resultOf(err error) attribute.KeyValue {
	result := "ok"
	switch {
	case observe.IsContextEnd(err):
		result = "given_up"
	case err != nil:
		result = "failed"
	}
	return attribute.String("zkrecipes.result", result)
}
