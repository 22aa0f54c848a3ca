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

func (echo) Measure(_ context.Context, t Task, ready func() error) (float64, error) {
	if t.Kind == Creates {
		if err := ready(); err != nil {
			return 0, err
		}
	}
	if t.Nodes < 0 {
		return 0, errors.New("broken")
	}
	return float64(t.Nodes), nil
}

func TestEachTaskIsAnsweredByLines(t *testing.T) {
	in := `{"kind":"hello"}
{"kind":"load","nodes":7}
{"kind":"creates","nodes":8}
{"kind":"load","nodes":-1}
{"kind":"load","nodes":9}
`
	var out strings.Builder
	require.NoError(t, Serve(t.Context(), strings.NewReader(in), &out, echo{}))
	require.Equal(t, `{"version":"echo 1"}
{"value":7}
{"ready":true}
{"value":8}
{"error":"load: broken"}
{"value":9}
`, out.String())
}

func TestWhatIsNoTaskEndsAPeer(t *testing.T) {
	require.Error(t, Serve(t.Context(), strings.NewReader("hello\n"), &strings.Builder{}, echo{}))
}
