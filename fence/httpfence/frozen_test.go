//go:build unix

package httpfence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/fence/httpfence"
	"github.com/zkrecipes/zkrecipes/fence/internal/frozen"
)

func TestALateRequestIsRefused(t *testing.T) { testLateRequest(t, frozen.InProcess(t)) }

func TestOnApacheALateRequestIsRefused(t *testing.T) { testLateRequest(t, frozen.OnApache(t)) }

// testLateRequest freezes the process of a holder until another client holds and has written.
func testLateRequest(t *testing.T, servers string) {
	for _, fenced := range []bool{false, true} {
		t.Run(fmt.Sprintf("fenced=%v", fenced), func(t *testing.T) {
			var d data
			refused := frozen.Case{
				Serve: func() string {
					if fenced {
						return start(t, httpfence.Handler(&fence.Memory{}, &d, nil)).URL
					}
					return start(t, &d).URL
				},
				Write: func(ctx context.Context, w frozen.Writer, value string) error {
					client := &http.Client{Transport: &httpfence.Transport{}}
					defer client.CloseIdleConnections()
					to := server{&httptest.Server{URL: w.Target}, client}
					r, err := to.send(ctx, http.MethodPut, "/a", w.Token, value)
					if err == nil {
						err = r.stale
					}
					return err
				},
			}.Run(t, servers)
			require.Equal(t, fenced, refused)
			if fenced {
				require.Equal(t, frozen.Next, d.values["/a"])
			} else {
				require.Equal(t, frozen.Late, d.values["/a"])
			}
		})
	}
}
