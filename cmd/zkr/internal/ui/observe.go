package ui

import (
	"context"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/session"
)

// Observe calls show with a model that reads the tree below root meanwhile, until show
// returns or ctx ends. A tree that cannot be read ends the context of show.
func Observe(ctx context.Context, client *session.Client, root string, show func(context.Context, *Model) error) error {
	return ObserveWith(ctx, client, root, nil, show)
}

// ObserveWith is Observe with a model that asks the servers, too; auditor may be nil.
func ObserveWith(ctx context.Context, client *session.Client, root string, auditor *doctor.Auditor, show func(context.Context, *Model) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m, over := NewModel(client, root), make(chan struct{})
	m.Auditor = auditor
	// Waited for below; ends with ctx, or when the tree cannot be read.
	go func() {
		defer close(over)
		cancel(m.Run(ctx))
	}()
	err := show(ctx, m)
	ended := context.Cause(ctx) // by Run, or by the caller
	cancel(nil)
	<-over
	if err != nil && ended != nil {
		return ended
	}
	return err
}
