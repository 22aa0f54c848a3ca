package provider

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrNoInstance: no instance can be picked.
	ErrNoInstance = errors.New("no instance to use")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)
