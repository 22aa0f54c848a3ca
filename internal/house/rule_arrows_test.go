package house

import (
	"slices"
	"strings"
)

// layer says what the packages in and below a folder may import of this
// module. Entries of may are folders; a trailing "/..." takes in all below.
// What a folder keeps in its own internal folder it may always import.
type layer struct {
	folder string
	may    []string
}

// What packages above the recipes share: made of session alone (mechanics), or of nothing,
// as users could make it, so that it is no private hook into a recipe.
const (
	mechanics = "internal/optimistic"
	// formats has the formats of all recipes, and versions and names what these are made
	// of. They are pure: the dashboard reads what recipes write by them.
	formats  = "internal/format"
	versions = "internal/versioned"
	names    = "internal/znode"
	// parts and posts know neither servers nor formats.
	parts = "internal/batches"
	posts = "internal/mailbox"
	// waits is for session, too.
	waits = "internal/await"
)

// heldExample is the example of session.Held, which needs types that implement it.
const heldExample = "session/example_held_test.go"

// What only tests import: worlds, and the suite of the recipes that queue for something.
const (
	worlds     = "internal/world"
	queueSuite = "internal/queuetest"
)

// supportsTests reports whether only tests import the packages in and below a folder.
func supportsTests(dir string) bool { return within(dir, worlds) || within(dir, queueSuite) }

// layers is the picture of docs/project/architecture.md, top to bottom. Where two
// entries fit a folder the longer one counts.
func layers() []layer {
	public := append(published(), "session", "rebalanser/...", "zktest/...")
	above := append(recipes(), "discovery", "session", mechanics, formats+"/...", versions, names, parts, posts, waits)
	out := []layer{
		// The dashboard reads names, and tells who waits for whom, as the recipes do.
		{"cmd", append(slices.Clone(public), "cmd/...", formats+"/...", versions, names, "internal/contender")},
		// What all commands of the tool share knows no recipe and no command.
		{"cmd/zkr/internal/signals", []string{"cmd/zkr/internal/exit"}},
		{"cmd/zkr/internal/cli", []string{"cmd/zkr/internal/exit", "cmd/zkr/internal/signals", "session"}},
		{"cmd/zkr/internal/supervise", []string{"cmd/zkr/internal/cli", "cmd/zkr/internal/exit", "cmd/zkr/internal/signals", "session"}},
		{"examples", append(slices.Clone(public), "examples/internal/...")},
		{"interop", public},
		{"bench", public},
		{"discovery", []string{"cache", "session", "internal/..."}},
		{"discovery/provider", []string{"discovery", "cache", "session", "internal/..."}},
		{"discovery/grpcresolver", []string{"discovery", "session"}},
		{"internal", []string{"internal/...", "session"}},
		{"internal/house", nil},
		{"internal/heldtest", public},
		{mechanics, []string{"session"}},
		{formats, []string{versions, names}},
		{versions, nil},
		{names, nil},
		{parts, nil},
		{posts, nil},
		{waits, nil},
		{worlds, []string{"internal/...", "session", "zktest/..."}},
		// Recipes describe themselves to the suite, which knows none of them.
		{queueSuite, []string{worlds, "session", "zktest/..."}},
		{"session", []string{names, waits}},
		{"session/internal", []string{"session/internal/..."}},
		{"zktest", nil},
		{"zktest/internal", []string{"zktest/internal/..."}},
		{"zktest/apache", []string{"zktest", "zktest/internal/containers"}},
		{"zktest/zktest-docker", []string{"zktest/internal/containers"}},
		{"zktest/matrix", []string{"zktest"}},
		{"zktest/conformance", []string{"zktest", "zktest/apache"}},
	}
	for _, dir := range recipes() {
		out = append(out, layer{dir, []string{"session", "internal/..."}})
	}
	for _, dir := range upper() {
		out = append(out, layer{dir, append(slices.Clone(above), dir+"/...")})
	}
	return out
}

// layerOf finds the layer of a folder.
func layerOf(dir string) (best layer, ok bool) {
	for _, l := range layers() {
		if within(dir, l.folder) && len(l.folder) >= len(best.folder) {
			best, ok = l, true
		}
	}
	return best, ok
}

// Arrows: packages import only what lies below them. Tests may import their
// own package, what that may import, and the test server, from everywhere.
func Arrows(t *Tree) []Finding {
	var out []Finding
	t.code(func(f *File) {
		l, ok := layerOf(f.Dir())
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
	if f.Test() && (to == f.Dir() || within(to, "zktest")) {
		return true
	}
	if f.Path == heldExample {
		return slices.Contains(published(), to) || to == "session"
	}
	if to == "internal/house" {
		return false // it looks at the others; nobody runs on it
	}
	if within(to, worlds) {
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

// The modules of others that this one uses.
const (
	moduleZooKeeper = "github.com/go-zookeeper/zk"
	moduleSync      = "golang.org/x/sync"
	moduleTestify   = "github.com/stretchr/testify"
	modulePorcupine = "github.com/anishathalye/porcupine"
	moduleGoleak    = "go.uber.org/goleak"
	moduleRapid     = "pgregory.net/rapid"
	moduleSys       = "golang.org/x/sys"
	moduleTerm      = "golang.org/x/term"
	moduleCobra     = "github.com/spf13/cobra"
	moduleFlags     = "github.com/spf13/pflag" // cobra's, whose types its own have
	moduleChromedp  = "github.com/chromedp"
)

// browserDriver is the folder of what drives a browser for tests.
const browserDriver = "cmd/zkr/internal/browser"

// modulesFor lists which modules of others a folder's files may import.
func modulesFor(dir string, test bool) []string {
	out := []string{moduleSync}
	switch {
	case within(dir, "session"):
		out = append(out, moduleZooKeeper)
	case dir == browserDriver:
		out = append(out, moduleChromedp)
	case within(dir, "cmd"):
		out = append(out, moduleCobra, moduleFlags, moduleSys, moduleTerm)
	}
	if test {
		out = append(out, moduleZooKeeper, moduleTestify, modulePorcupine, moduleGoleak, moduleRapid)
	}
	return out
}

// ThirdParty: library packages need the standard library and
// golang.org/x/sync, and session alone needs go-zookeeper. Tests have a few
// more, and so has the tool. The other nested modules have requirements of their
// own, which no program gets that imports the library.
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
