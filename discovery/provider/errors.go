package provider

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

var (
	// ErrNoInstance: there is none to pick.
	ErrNoInstance = errors.New("no instance to use")
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
)

// failure names operation and service.
func failure(ctx context.Context, op, service string, err error) error {
	return holding.Failure(ctx, "provider", op, service, err)
}
