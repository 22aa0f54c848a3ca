package exporter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
	yaml "go.yaml.in/yaml/v2"
)

// deployed is the folder of the files for Prometheus and Grafana.
const deployed = "../../../../deploy/prometheus"

// metricName is the name of a metric of the exporter or of observe/prom.
var metricName = regexp.MustCompile(`\b(zkr|zkrecipes)_[a-z_]+`) // read only

// listedMetric is a line of the list in the documentation of observe/prom.
var listedMetric = regexp.MustCompile(`(?m)^//\t(zkrecipes_[a-z_]+)(?:\{([a-z,]+)\})? `) // read only

// metricLabels are the labels of all metrics, with the suffixes of histograms.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	all := exporter.MetricLabels()
	// The module observe/prom compares this list with its metrics.
	list, err := os.ReadFile("../../../../observe/prom/doc.go")
	require.NoError(t, err)
	for _, m := range listedMetric.FindAllStringSubmatch(string(list), -1) {
		name, labels := m[1], strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
		all[name] = labels
		if strings.HasSuffix(name, "_seconds") {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				all[name+suffix] = append([]string{"le"}, labels...)
			}
		}
	}
	require.Greater(t, len(all), 60)
	return all
}

func TestGraphsAndAlertsUseMetricsThatExist(t *testing.T) {
	labels := metricLabels(t)
	for _, file := range []string{"dashboard.json", "alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(filepath.Join(deployed, file))
		require.NoError(t, err)
		used := metricName.FindAllString(string(text), -1)
		require.Greater(t, len(used), 8, file)
		for _, name := range used {
			require.Contains(t, labels, name, "%s: there is no such metric", file)
		}
	}
}

// The places of an expression that name labels: of one metric, and of an aggregation.
var (
	selected = regexp.MustCompile(`\b((?:zkr|zkrecipes)_[a-z_]+)(?:\{([^}]*)\})?`)             // read only
	matched  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|!~|=)\s*"`)                            // read only
	grouped  = regexp.MustCompile(`\b(?:by|on|ignoring|without|group_left)\s*\(([a-z_, ]+)\)`) // read only
)

// unknownLabels are the labels in an expression that none of its metrics has.
func unknownLabels(expr string, labels map[string][]string) (out []string) {
	known := []string{"job", "instance"} // Prometheus's own
	for _, m := range selected.FindAllStringSubmatch(expr, -1) {
		own := append([]string{"job", "instance"}, labels[m[1]]...)
		known = append(known, own...)
		for _, l := range matched.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(own, l[1]) {
				out = append(out, m[1]+"{"+l[1]+"}")
			}
		}
	}
	for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.Split(m[1], ",") {
			if l = strings.TrimSpace(l); !slices.Contains(known, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

func TestUnknownLabelsAreFound(t *testing.T) {
	t.Parallel()
	labels := map[string][]string{"zkr_a": {"kind"}, "zkr_b": {"path", "state"}}
	for expr, want := range map[string][]string{
		`sum by (kind) (zkr_a{kind="x"}) / on (instance) zkr_b{state!="y",path=~"z"}`: nil,
		`zkr_a{path="x"}`:                 {"zkr_a{path}"},
		`sum by (kind, level) (zkr_a)`:    {"level"},
		`zkr_a > 0 unless on(stat) zkr_b`: {"stat"},
	} {
		require.Equal(t, want, unknownLabels(expr, labels), expr)
	}
}

// alertRule is an alert of alerts.yml.
type alertRule struct {
	Alert, Expr string
	Annotations map[string]string
}

func alertRules(t *testing.T) (out []alertRule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployed, "alerts.yml"))
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []alertRule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	require.NotEmpty(t, out)
	return out
}

func TestGraphsAndAlertsUseLabelsThatExist(t *testing.T) {
	labels := metricLabels(t)
	exprs := dashboardExpressions(t)
	for _, r := range alertRules(t) {
		exprs = append(exprs, r.Expr)
		for _, text := range r.Annotations {
			for _, m := range regexp.MustCompile(`\$labels\.([a-z_]+)`).FindAllStringSubmatch(text, -1) {
				exprs = append(exprs, "sum by ("+m[1]+") ("+r.Expr+")")
			}
		}
	}
	for _, expr := range exprs {
		require.Empty(t, unknownLabels(expr, labels), expr)
	}
}

// Each alert has a test in which it fires.
func TestEveryAlertHasATest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deployed, "alerts_test.yml"))
	require.NoError(t, err)
	var file struct {
		Tests []struct {
			Cases []struct {
				Alert  string `yaml:"alertname"`
				Expect []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	fires := map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			fires[c.Alert] = fires[c.Alert] || len(c.Expect) > 0
		}
	}
	for _, r := range alertRules(t) {
		require.True(t, fires[r.Alert], "%s fires in no test", r.Alert)
	}
}

// dashboardExpressions are the expressions of all graphs.
func dashboardExpressions(t *testing.T) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployed, "dashboard.json"))
	require.NoError(t, err)
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &d))
	for _, p := range d.Panels {
		for _, q := range p.Targets {
			out = append(out, q.Expr)
		}
	}
	require.Greater(t, len(out), 20)
	return out
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
	require.Greater(t, len(d.Panels), 20)
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

// While the tree is not visible, nothing of it is shown: not a number of problems either.
func TestDashboardShowsNothingOfATreeThatIsNotVisible(t *testing.T) {
	promtool := requirePromtool(t)
	var tests strings.Builder
	tests.WriteString("tests:\n- interval: 1m\n  input_series:\n  - {series: zkr_up, values: 0x5}\n  - {series: zkr_view_current, values: 0x5}\n  promql_expr_test:\n")
	for _, text := range dashboardExpressions(t) {
		if strings.Contains(text, "zkr_up") || strings.Contains(text, "zkr_view_current") {
			continue
		}
		expr, err := json.Marshal(strings.ReplaceAll(text, "$__rate_interval", "1m"))
		require.NoError(t, err)
		tests.WriteString("  - {expr: " + string(expr) + ", eval_time: 3m, exp_samples: []}\n")
	}
	file := filepath.Join(t.TempDir(), "test.yml")
	require.NoError(t, os.WriteFile(file, []byte(tests.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Every expression of the dashboard parses.
func TestExpressionsOfTheDashboardParse(t *testing.T) {
	promtool := requirePromtool(t)
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for _, text := range dashboardExpressions(t) {
		expr, err := json.Marshal(strings.ReplaceAll(text, "$__rate_interval", "1m"))
		require.NoError(t, err)
		rules.WriteString("  - record: a\n    expr: " + string(expr) + "\n")
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", "--lint=none", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
