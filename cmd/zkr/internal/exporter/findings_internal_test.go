package exporter

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Any client can make as many paths with findings as it likes: they are few series.
func TestFindingsAboutManyPathsAreFewSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New("/", 3)
		still := func(path string) doctor.Finding {
			return doctor.Finding{Name: "queue.still", Level: recognize.Warn, Where: path}
		}
		e.inspector = func(context.Context, []*doctor.Server) []doctor.Finding {
			out := []doctor.Finding{still("a server"), still("/locks/0000")}
			for i := range 1000 {
				out = append(out, still(fmt.Sprintf("/locks/%04d", i)))
			}
			return out
		}
		ctx, stop := context.WithCancel(t.Context())
		var done sync.WaitGroup
		// Waited for below; ends with ctx.
		done.Go(func() { e.Audit(ctx, nil, 0) })
		synctest.Wait()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(own{e, e.sample()})
		families, err := registry.Gather()
		require.NoError(t, err)
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if labels := m.GetLabel(); f.GetName() == "zkr_finding" && labels[1].GetValue() == "queue.still" {
					got[labels[2].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		stop()
		done.Wait()
		require.Equal(t, map[string]float64{"a server": 1, "/locks/0000": 1, "/locks/0001": 1, "/locks/0002": 1, "other": 997}, got)
	})
}
