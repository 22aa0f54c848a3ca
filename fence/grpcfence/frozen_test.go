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
)

func TestALateCallIsRefused(t *testing.T) { testLateCall(t, frozen.InProcess(t)) }

func TestOnApacheALateCallIsRefused(t *testing.T) { testLateCall(t, frozen.OnApache(t)) }

// testLateCall freezes the process of a holder until another client holds and has written.
func testLateCall(t *testing.T, servers string) {
	for _, isFenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", isFenced), func(t *testing.T) {
			var d data
			refused := frozen.Case{
				Serve: func() string {
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
			}.Run(t, servers)
			require.Equal(t, isFenced, refused)
			if isFenced {
				require.Equal(t, frozen.Next, d.get())
			} else {
				require.Equal(t, frozen.Late, d.get())
			}
		})
	}
}
