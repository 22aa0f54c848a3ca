package house

import (
	"slices"
	"strings"
	"sync"
)

// layer lists the allowed imports, within this module, of the packages in and below
// a folder. Entries of may are folders; a trailing "/..." includes all folders
// below. A folder may always import its own internal folder.
type layer struct {
	folder string
	may    []string
}

// Packages shared above the recipes: made of session alone (mechanics), or of
// nothing, as users could write them, without a private hook into a recipe.
const (
	mechanics = "internal/optimistic"
	// formats has the formats of all recipes; versions and names are its parts. All
	// of them are pure: the dashboard reads the records of recipes by these
	// packages.
	formats  = "internal/format"
	versions = "internal/versioned"
	names    = "internal/znode"
	// parts and posts know neither servers nor formats.
	parts     = "internal/batches"
	posts     = "internal/mailbox"
	logins    = "internal/digestmd5"
	receivers = "internal/receiver"
	userFails = "internal/usererror"
	// waits and posts are for session, too.
	waits = "internal/await"
	// draws is the randomness of session, and of the simulations of users.
	draws = "internal/chance"
	// histories tells which random histories the tests run.
	histories = "internal/seeds"
	// processes runs processes: for the tool, the examples, and tests.
	processes = "internal/subprocess"
	// events are the types of what is observed, reports makes them of waits and holds.
	events  = "observe"
	reports = "internal/observing"
)

// heldExample is the example of session.Held, with types that implement Held.
const heldExample = "session/example_held_test.go"

// Packages imported only by tests: worlds, the suite of the queue recipes, and the KDC.
const (
	worlds     = "internal/world"
	queueSuite = "internal/queuetest"
	kdcs       = "internal/kdctest"
)

// supportsTests reports whether only tests import the packages in and below a folder.
func supportsTests(dir string) bool {
	return within(dir, worlds) || within(dir, queueSuite) || within(dir, kdcs)
}

// commands are the packages of the tool's commands.
func commands() (out []string) {
	for _, name := range []string{
		"barrier", "counter", "demo", "discovery", "doctor", "elect", "exporter", "fence", "history", "job", "lock", "rebalance", "record", "rwlock", "serve", "status", "task", "ui", "value", "znode",
	} {
		out = append(out, "cmd/zkr/internal/"+name+"cmd")
	}
	return out
}

// layers is the picture of docs/project/architecture.md, top to bottom. Of two
// entries for a folder, the longer entry counts.
var layers = sync.OnceValue(func() []layer {
	public := append(published(), "session", events, "health", "rebalanser/...", "zktest/...")
	above := append(recipes(), "discovery", "session", events, reports, mechanics, formats+"/...", versions, names, parts, posts, receivers, userFails, waits)
	out := []layer{
		// The dashboard reads names, and finds predecessors, as the recipes do.
		{"cmd", append(slices.Clone(public), "cmd/...", formats+"/...", versions, names, waits, processes, "internal/contender")},
		// The packages shared by all commands of the tool know no recipe and no
		// command.
		{"cmd/zkr/internal/signals", []string{"cmd/zkr/internal/exit"}},
		{events, nil},
		{"health", []string{"session", "cache"}},
		// The adapters see events only; their examples use recipes.
		{events + "/otel", public},
		{events + "/prom", public},
		{reports, []string{"session", events}},
		{"cmd/zkr/internal/cli", []string{"cmd/zkr/internal/exit", "cmd/zkr/internal/signals", "session", "session/kerberos"}},
		{"cmd/zkr/internal/supervise", []string{"cmd/zkr/internal/cli", "cmd/zkr/internal/exit", "cmd/zkr/internal/signals", "session", processes}},
		{"cmd/zkr/internal/takeaway", []string{"cmd/zkr/internal/cli", "cmd/zkr/internal/exit", "session"}},
		{"examples", append(slices.Clone(public), "examples/internal/...")},
		{"examples/internal/osproc", []string{processes}},
		{"interop", public},
		{"bench", append(slices.Clone(public), processes)},
		{"discovery", []string{"cache", "session", events, "internal/..."}},
		{"node", []string{"session", events, "internal/..."}},
		{"discovery/provider", []string{"discovery", "cache", "session", "internal/..."}},
		{"discovery/grpcresolver", []string{"discovery", "session"}},
		// Its tests and examples hold a lock; so does the package that freezes holders.
		{"fence", []string{"fence/...", "session", "lock", "internal/holding", "internal/receiver"}},
		{"fence/internal", []string{"fence", "session", "lock", "zktest", "zktest/apache", processes}},
		// Adapters to other libraries, and to net/http.
		{"election/serving", []string{"election", "fence", "session", waits, receivers}},
		{"election/grpcserving", []string{"election", "election/serving", "session"}},
		{"election/kubelock", []string{"election", "session", "internal/holding", receivers}},
		// Tests with client-go and controller-runtime.
		{"election/kubelock/kubetest", []string{"election/kubelock", "session"}},
		{"lock/gocronlock", []string{"lock", "election", "election/serving", "session"}},
		{"internal", []string{"internal/...", "session", events}},
		{"internal/house", nil},
		{"internal/heldtest", public},
		// It is compiled with earlier versions, too: it uses what users use.
		{"internal/versionpeer", []string{"session", "lock"}},
		{mechanics, []string{"session"}},
		{formats, []string{versions, names}},
		{versions, nil},
		{names, nil},
		{parts, nil},
		{posts, nil},
		{logins, nil},
		{receivers, nil},
		{userFails, nil},
		{waits, nil},
		{processes, nil},
		{draws, nil},
		{histories, nil},
		{worlds, []string{"internal/...", "session", events, "zktest/..."}},
		// Recipes describe themselves to the suite; the suite knows no recipe.
		{queueSuite, []string{worlds, "session", "zktest/..."}},
		{kdcs, []string{worlds, "zktest/..."}},
		{"session", []string{names, waits, posts, events, logins, draws, formats + "/heartbeatformat"}},
		{"session/internal", []string{"session/internal/..."}},
		// Its tests and examples hold a lock.
		{"session/kerberos", []string{"session", "lock"}},
		{"zktest", nil},
		{"zktest/internal", []string{"zktest/internal/...", logins}},
		{"zktest/apache", []string{"zktest", "zktest/internal/containers"}},
		{"zktest/zktest-docker", []string{"zktest/internal/containers"}},
		{"zktest/matrix", []string{"zktest"}},
		// It runs programs that use the library. Its tests and examples hold a lock.
		{"zktest/sim", []string{"zktest", "zktest/matrix", "session", events, draws, histories, "lock", "counter"}},
		{"zktest/sim/internal", nil},
		{"zktest/conformance", []string{"zktest", "zktest/apache", logins}},
	}
	// A command of the tool can be read by itself: it uses no other command.
	shared := append(slices.Clone(public), formats+"/...", names, processes)
	for _, dir := range []string{"browser", "cli", "cluster", "doctor", "exit", "exporter", "foreign", "history", "historyargs", "holds", "pipetest", "recorder", "recording", "records", "signals", "supervise", "takeaway", "txnlog/...", "ui/...", "web", "webconfig"} {
		shared = append(shared, "cmd/zkr/internal/"+dir)
	}
	for _, dir := range commands() {
		out = append(out, layer{dir, shared})
	}
	for _, dir := range recipes() {
		out = append(out, layer{dir, []string{"session", events, "internal/..."}})
	}
	for _, dir := range upper() {
		out = append(out, layer{dir, append(slices.Clone(above), dir+"/...")})
	}
	return out
}) // read only

// layerOf finds the layer of a folder.
func layerOf(dir string) (best layer, ok bool) {
	for _, l := range layers() {
		if within(dir, l.folder) && len(l.folder) >= len(best.folder) {
			best, ok = l, true
		}
	}
	return best, ok
}

// Arrows: packages import only packages below them. Tests may import, from
// everywhere, their own package, its allowed imports, the test server, and the package
// that runs processes.
func Arrows(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		l, ok := layerOf(f.Dir())
		if strings.HasPrefix(f.Dir(), "cmd/zkr/internal/") && strings.HasSuffix(f.Dir(), "cmd") && l.folder != f.Dir() {
			out = append(out, f.finding(f.Syntax.Package, "%s is not listed as a family of commands", f.Dir()))
		}
		if !ok {
			out = append(out, f.finding(f.Syntax.Package, "folder %s has no place in the layers", f.Dir()))
			return
		}
		for _, spec := range f.Syntax.Imports {
			to, ok := t.local(importPath(spec))
			if !ok || l.allows(f, to) {
				continue
			}
			out = append(out, f.finding(spec.Pos(), "%s must not import %s", f.Dir(), to))
		}
	})
	return out
}

func (l layer) allows(f *File, to string) bool {
	if f.Test() && (to == f.Dir() || to == processes || within(to, "zktest")) {
		return true
	}
	if f.Path == heldExample {
		return slices.Contains(published(), to) || to == "session"
	}
	if to == "internal/house" {
		return false // house reads the other packages; no package runs on house
	}
	if within(to, worlds) || within(to, kdcs) {
		return f.Test()
	}
	if within(to, queueSuite) && !f.Test() {
		return false
	}
	if within(to, l.folder+"/internal") {
		return true
	}
	return slices.ContainsFunc(l.may, func(may string) bool {
		if folder, ok := strings.CutSuffix(may, "/..."); ok {
			return within(to, folder)
		}
		return to == may
	})
}

// The modules of others used by this module.
const (
	moduleZooKeeper  = "github.com/go-zookeeper/zk"
	moduleSync       = "golang.org/x/sync"
	moduleTestify    = "github.com/stretchr/testify"
	modulePorcupine  = "github.com/anishathalye/porcupine"
	moduleGoleak     = "go.uber.org/goleak"
	moduleRapid      = "pgregory.net/rapid"
	moduleSys        = "golang.org/x/sys"
	moduleTerm       = "golang.org/x/term"
	moduleCobra      = "github.com/spf13/cobra"
	moduleFlags      = "github.com/spf13/pflag" // cobra's, whose types its own have
	moduleChromedp   = "github.com/chromedp"
	modulePrometheus = "github.com/prometheus"
	moduleSnappy     = "github.com/golang/snappy"
	moduleBcrypt     = "golang.org/x/crypto/bcrypt"
	moduleRate       = "golang.org/x/time/rate"
	moduleYAML       = "go.yaml.in/yaml/v2" // the exporter toolkit's, whose types read its form
)

// browserDriver is the folder of the browser driver for tests.
const browserDriver = "cmd/zkr/internal/browser"

// exporter is the folder of the metrics of the tool.
const exporter = "cmd/zkr/internal/exporter"

// webSettings is the folder of the settings of HTTP servers, in the format of the
// exporter toolkit: passwords of users, certificates, and a rate limit.
const webSettings = "cmd/zkr/internal/webconfig"

// logReader is the folder of the reader of servers' files, which may be compressed.
const logReader = "cmd/zkr/internal/txnlog"

// logHistory is the folder of the history, whose kept states are compressed.
const logHistory = "cmd/zkr/internal/history"

// modulesFor lists the modules of others allowed in a folder's files.
func modulesFor(dir string, test bool) []string {
	out := []string{moduleSync}
	switch {
	case within(dir, "session"):
		out = append(out, moduleZooKeeper)
	case dir == browserDriver:
		out = append(out, moduleChromedp)
	case within(dir, logReader), dir == logHistory:
		out = append(out, moduleSnappy)
	case dir == webSettings:
		out = append(out, modulePrometheus, moduleBcrypt, moduleRate, moduleYAML)
	case within(dir, exporter), within(dir, exporter+"cmd"):
		out = append(out, modulePrometheus, moduleCobra)
	case within(dir, "cmd"):
		out = append(out, moduleCobra, moduleFlags, moduleSys, moduleTerm)
	}
	if test {
		out = append(out, moduleZooKeeper, moduleTestify, modulePorcupine, moduleGoleak, moduleRapid)
	}
	if test && within(dir, exporter) {
		out = append(out, moduleYAML) // rules for alerts
	}
	return out
}

// ThirdParty: library packages need the standard library and golang.org/x/sync, and
// session alone needs go-zookeeper. Tests have a few more, and so has the tool. The
// other nested modules have requirements of their own, which do not reach programs
// that import the library.
func ThirdParty(t *Tree) []Finding {
	var out []Finding
	nested := t.nested()
	t.code(func(f *File) {
		own := func(module string) bool { return within(f.Dir(), module) && !within(f.Dir(), "cmd") }
		if slices.ContainsFunc(nested, own) {
			return
		}
		for _, spec := range f.Syntax.Imports {
			p := importPath(spec)
			if p == "unsafe" && within(f.Dir(), "cmd") {
				out = append(out, f.finding(spec.Pos(), "%s must not import unsafe: "+moduleSys+" and "+moduleTerm+" have typed calls", f.Dir()))
			}
			first, _, _ := strings.Cut(p, "/")
			if _, ok := t.local(p); ok || !strings.Contains(first, ".") {
				continue
			}
			if !slices.ContainsFunc(modulesFor(f.Dir(), f.Test()), func(m string) bool { return within(p, m) }) {
				out = append(out, f.finding(spec.Pos(), "%s must not import %s", f.Dir(), p))
			}
		}
	})
	return out
}
