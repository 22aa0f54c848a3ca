//go:build unix

package grpcfence_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/grpcfence"
	"github.com/zkrecipes/zkrecipes/fence/internal/frozen"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The process of a holder is frozen until another client holds and has written.
func TestALateCallIsRefused(t *testing.T) {
	for _, isFenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", isFenced), func(t *testing.T) {
			var d data
			refused := frozen.Case{
				Serve: func(*zktest.Server) string {
					if isFenced {
						return serve(t, &d, nil, fenced(&fence.Memory{}))
					}
					return serve(t, &d, nil)
				},
				Write: func(ctx context.Context, w frozen.Writer, value string) error {
					conn, err := dial(w.Target)
					if err != nil {
						return err
					}
					defer conn.Close()
					return grpcfence.FromError(set(ctx, conn, w.Token, value))
				},
			}.Run(t)
			require.Equal(t, isFenced, refused)
			if isFenced {
				require.Equal(t, frozen.Next, d.get())
			} else {
				require.Equal(t, frozen.Late, d.get())
			}
		})
	}
}
