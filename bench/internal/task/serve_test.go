package task

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// echo is a peer that measures the number of nodes.
type echo struct{}

func (echo) Version() string { return "echo 1" }

func (echo) Measure(_ context.Context, t Task, ready func() error) (Measured, error) {
	if t.Kind == Creates {
		if err := ready(); err != nil {
			return Measured{}, err
		}
	}
	if t.Nodes < 0 {
		return Measured{}, errors.New("broken")
	}
	out := Measured{Value: float64(t.Nodes)}
	if t.Kind == Lock {
		out.Cost = &Cost{Processor: 1.5, Allocations: 2, Bytes: 30}
	}
	return out, nil
}

func TestEachTaskIsAnsweredByLines(t *testing.T) {
	in := `{"kind":"hello"}
{"kind":"load","nodes":7}
{"kind":"creates","nodes":8}
{"kind":"load","nodes":-1}
{"kind":"lock","nodes":9}
`
	var out strings.Builder
	require.NoError(t, Serve(t.Context(), strings.NewReader(in), &out, echo{}))
	require.Equal(t, `{"version":"echo 1"}
{"value":7}
{"ready":true}
{"value":8}
{"error":"load: broken"}
{"value":9,"cost":{"cpu_us":1.5,"allocations":2,"bytes":30}}
`, out.String())
}

func TestInvalidTaskEndsAPeer(t *testing.T) {
	require.Error(t, Serve(t.Context(), strings.NewReader("hello\n"), &strings.Builder{}, echo{}))
}
