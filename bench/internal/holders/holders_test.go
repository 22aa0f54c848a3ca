package holders_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/holders"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestEachRuleIsMeasured(t *testing.T) {
	for _, rule := range holders.Rules() {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			srv, err := zktest.Start(&zktest.Options{TickTime: 100 * time.Millisecond})
			require.NoError(t, err)
			defer func() { require.NoError(t, srv.Close()) }()
			require.NoError(t, srv.Create("/root", nil))
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			f, err := holders.Measure(ctx, holders.Setting{
				Servers: srv.Addr(), Root: "/root", Holders: 5, Rule: rule,
				Timeout: time.Second, Tick: 100 * time.Millisecond, Time: 500 * time.Millisecond, Every: 100 * time.Millisecond,
			})
			require.NoError(t, err)
			assert.Equal(t, 5, f.Holders)
			assert.Equal(t, rule, f.Rule)
			assert.Positive(t, f.Writes)
			assert.Equal(t, rule == "shared" || rule == "reads", f.Reads > 0)
			assert.Equal(t, rule == "none" || rule == "reads", f.Heartbeats == 0, "a heartbeat without a transaction is none")
		})
	}
}

func TestUnknownRuleIsRefused(t *testing.T) {
	_, err := holders.Measure(context.Background(), holders.Setting{Rule: "some"})
	require.ErrorContains(t, err, `"some"`)
}
