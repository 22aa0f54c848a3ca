package matrix_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

func TestMisuseOfNilAndZeroEnvironmentsIsReported(t *testing.T) {
	for _, e := range []*matrix.Env{nil, new(matrix.Env)} {
		for name, call := range map[string]func(){
			"Addrs": func() { e.Addrs() }, "Canceled": func() { e.Canceled() }, "Cleanup": func() { e.Cleanup(nil) },
			"Dial":       func() { _, _ = e.Dial(t.Context(), "tcp", "a:1") },
			"DialOther":  func() { _, _ = e.DialOther(t.Context(), "tcp", "a:1") },
			"Eventually": func() { _ = e.Eventually(0, nil) },
			"NoChildren": func() { _ = e.NoChildren("/", 0) },
			"Suffers":    func() { e.Suffers(matrix.Outage) },
		} {
			require.PanicsWithValue(t, "matrix: this Env is not that of a run: get one from matrix.Run", call, name)
		}
	}
}
