package exporter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// deployed is the folder of the files for Prometheus and Grafana.
const deployed = "../../../../deploy/prometheus"

// metricName is the name of a metric of the exporter or of observe/prom.
var metricName = regexp.MustCompile(`\b(zkr|zkrecipes)_[a-z_]+`) // read only

// metricNames are the names of all metrics, with the suffixes of histograms.
func metricNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range exporter.MetricNames() {
		names[name] = true
	}
	// The module observe/prom compares this list with its metrics.
	list, err := os.ReadFile("../../../../observe/prom/doc.go")
	require.NoError(t, err)
	for _, name := range metricName.FindAllString(string(list), -1) {
		names[name] = true
		if strings.HasSuffix(name, "_seconds") {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				names[name+suffix] = true
			}
		}
	}
	return names
}

func TestGraphsAndAlertsUseMetricsThatExist(t *testing.T) {
	names := metricNames(t)
	for _, file := range []string{"dashboard.json", "alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(filepath.Join(deployed, file))
		require.NoError(t, err)
		used := metricName.FindAllString(string(text), -1)
		require.Greater(t, len(used), 8, file)
		for _, name := range used {
			require.True(t, names[name], "%s: there is no metric %s", file, name)
		}
	}
}

func TestDashboardIsWhole(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deployed, "dashboard.json"))
	require.NoError(t, err)
	var d struct {
		UID    string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.UID)
	ids := map[int]bool{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		require.NotEmpty(t, p.Title)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for _, q := range p.Targets {
			require.NotEmpty(t, q.Expr, p.Title)
		}
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
	}
}

// requirePromtool finds promtool. Without it the test is skipped with the reason, or fails
// if ZKTEST_REQUIRE_REAL is 1, as in CI.
func requirePromtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil && os.Getenv(apache.EnvRequire) != "1" {
		t.Skipf("\n*** NOT TESTED WITH PROMTOOL: install the Debian package prometheus: %v", err)
	}
	require.NoError(t, err, "promtool is required (Debian's package is prometheus)")
	return path
}

// The rules are valid, and fire when they should.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	promtool := requirePromtool(t)
	for _, args := range [][]string{
		{"check", "rules", "alerts.yml"}, {"check", "config", "prometheus.yml"}, {"test", "rules", "alerts_test.yml"},
	} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = deployed
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
}

// Every expression of the dashboard parses.
func TestExpressionsOfTheDashboardParse(t *testing.T) {
	promtool := requirePromtool(t)
	text, err := os.ReadFile(filepath.Join(deployed, "dashboard.json"))
	require.NoError(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &d))
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			expr, err := json.Marshal(strings.ReplaceAll(q.Expr, "$__rate_interval", "1m"))
			require.NoError(t, err)
			rules.WriteString("  - record: a\n    expr: " + string(expr) + "\n")
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", "--lint=none", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
