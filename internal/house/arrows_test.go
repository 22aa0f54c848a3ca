package house

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// importing returns the text of a file in package pkg with imports of paths.
func importing(pkg string, paths ...string) string {
	text := "package " + pkg + "\n"
	for _, p := range paths {
		text += "import _ \"" + p + "\"\n"
	}
	return text
}

func arrowExamples() []example {
	m := "example.org/m/"
	return []example{
		{"down", files{
			"lock/a.go":                importing("lock", m+"session", m+"internal/contender", "context"),
			"internal/contender/a.go":  importing("contender", m+"internal/znode", m+"session"),
			"session/a.go":             importing("session", m+"session/internal/wire"),
			"session/internal/w/a.go":  importing("w", m+"session/internal/jute"),
			"discovery/a.go":           importing("discovery", m+"cache", m+"session"),
			"rebalanser/a.go":          importing("rebalanser", m+"election", m+"discovery", m+"rebalanser/plan"),
			"workerctl/a.go":           importing("workerctl", m+"lock", m+"internal/optimistic", m+"internal/format/jobformat"),
			"internal/format/j/a.go":   importing("j", m+"internal/versioned", m+"internal/znode"),
			"internal/optimistic/a.go": importing("optimistic", m+"session"),
			"cmd/zkr/a.go":             importing("main", m+"lock", m+"zktest", m+"rebalanser", m+"cmd/zkr/internal/page", m+"internal/format/jobformat", m+"internal/contender"),
			"zktest/a.go":              importing("zktest", m+"zktest/internal/tree"),
			"zktest/matrix/a.go":       importing("matrix", m+"zktest"),
			"zktest/apache/a.go":       importing("apache", m+"zktest"),
		}, nil},
		{"tests use the test server", files{
			"lock/a_test.go":               importing("lock_test", m+"lock", m+"zktest", m+"zktest/matrix", m+"session"),
			"session/a_test.go":            importing("session_test", m+"session", m+"zktest/apache"),
			heldExample:                    importing("session_test", m+"session", m+"lock", m+"zktest"),
			"rwlock/a_test.go":             importing("rwlock_test", m+"internal/queuetest", m+"internal/world"),
			"internal/queuetest/a.go":      importing("queuetest", m+"internal/world", m+"session", m+"zktest/matrix"),
			"internal/heldtest/a_test.go":  importing("heldtest", m+"internal/world", m+"lock", m+"rebalanser"),
			"internal/znode/a_test.go":     importing("znode_test", m+"internal/znode", m+"zktest"),
			"zktest/conformance/a.go":      importing("conformance", m+"zktest/apache"),
			"internal/house/a_test.go":     importing("house_test", m+"internal/house"),
			"zktest/internal/t/a.go":       importing("t", m+"zktest/internal/jute"),
			"examples/locked/main.go":      importing("main", m+"lock", m+"session", m+"zktest"),
			"bench/go.mod":                 "module example.org/m/bench\n",
			"bench/lock_test.go":           importing("bench", m+"lock", "github.com/anything/else"),
			"interop/curator_test.go":      importing("interop", m+"lock", m+"zktest/apache"),
			"docs/project/architecture.md": "text",
			"lock/testdata/scenario.go":    "this is not even Go",
		}, nil},
		{"recipes use each other", files{"rwlock/a.go": importing("rwlock", m+"lock")}, []string{
			"rwlock/a.go:2: rwlock must not import lock",
		}},
		{"session looks up", files{"session/a.go": importing("session", m+"lock", m+"internal/contender", m+"internal/znode")}, []string{
			"session must not import lock", "session must not import internal/contender",
		}},
		{"a test of session looks up", files{"session/example_test.go": importing("session_test", m+"lock")}, []string{
			"session must not import lock",
		}},
		{"the bottom of session looks up", files{"session/internal/wire/a.go": importing("wire", m+"session")}, []string{
			"session/internal/wire must not import session",
		}},
		{"a private hook into a recipe", files{"workerctl/a.go": importing("workerctl", m+"internal/contender", m+"lock")}, []string{
			"workerctl must not import internal/contender",
		}},
		{"a hook into a recipe by a detour", files{"internal/optimistic/a.go": importing("optimistic", m+"session", m+"internal/contender")}, []string{
			"internal/optimistic must not import internal/contender",
		}},
		{"names know a session", files{"internal/znode/a.go": importing("znode", m+"session")}, []string{
			"internal/znode must not import session",
		}},
		{"formats know a session", files{
			"internal/versioned/a.go": importing("versioned", m+"session"), "internal/format/j/a.go": importing("j", m+"session", m+"workerctl"),
		}, []string{
			"internal/format/j must not import session", "internal/format/j must not import workerctl", "internal/versioned must not import session",
		}},
		{"the tool uses mechanics", files{"cmd/zkr/a.go": importing("main", m+"internal/holding")}, []string{
			"cmd/zkr must not import internal/holding",
		}},
		{"a command uses another", files{"cmd/zkr/internal/taskcmd/a.go": importing("taskcmd", m+"cmd/zkr/internal/cli", m+"cmd/zkr/internal/electcmd", m+"dispatch")}, []string{
			"cmd/zkr/internal/taskcmd must not import cmd/zkr/internal/electcmd",
		}},
		{"mechanics know a recipe", files{"internal/contender/a.go": importing("contender", m+"lock")}, []string{
			"internal/contender must not import lock",
		}},
		{"the test server knows the project", files{
			"zktest/a.go":        importing("zktest", m+"session"),
			"zktest/a_test.go":   importing("zktest_test", m+"session"),
			"zktest/matrix/a.go": importing("matrix", m+"zktest", m+"session"),
		}, []string{
			"zktest must not import session", "zktest must not import session", "zktest/matrix must not import session",
		}},
		{"the test server in a library", files{"lock/a.go": importing("lock", m+"zktest")}, []string{
			"lock must not import zktest",
		}},
		{"a test of one recipe runs on another", files{"lock/a_test.go": importing("lock", m+"election")}, []string{
			"lock must not import election",
		}},
		{"the suite of the queues in a library", files{"lock/a.go": importing("lock", m+"internal/queuetest")}, []string{
			"lock must not import internal/queuetest",
		}},
		{"the suite of the queues knows a recipe", files{
			"internal/queuetest/a.go": importing("queuetest", m+"lock", m+"internal/contender"),
		}, []string{
			"internal/queuetest must not import lock", "internal/queuetest must not import internal/contender",
		}},
		{"an import of the house", files{"internal/znode/a.go": importing("znode", m+"internal/house")}, []string{
			"internal/znode must not import internal/house",
		}},
		{"discovery takes a lock", files{"discovery/a.go": importing("discovery", m+"lock")}, []string{
			"discovery must not import lock",
		}},
		{"a folder without a plan", files{"queue/a.go": "package queue\n"}, []string{
			"folder queue has no place in the layers",
		}},
		{"a package at the root", files{"a.go": "package m\n"}, []string{"folder . has no place"}},
	}
}

func thirdPartyExamples() []example {
	return []example{
		{"each has what it needs", files{
			"session/a.go":          importing("session", moduleZooKeeper, moduleSync+"/errgroup", "net/http"),
			"lock/a.go":             importing("lock", moduleSync+"/semaphore", "example.org/m/session"),
			"lock/a_test.go":        importing("lock", moduleTestify+"/require", modulePorcupine, moduleGoleak, moduleRapid, moduleZooKeeper),
			"zktest/dockers/go.mod": "module example.org/m/zktest/dockers\n",
			"zktest/dockers/a.go":   importing("main", "example.org/dockertest"),
			"cmd/zkr/main.go":       importing("main", moduleCobra, moduleFlags, moduleSys+"/unix", moduleTerm),
			browserDriver + "/a.go": importing("browser", moduleChromedp+"/chromedp", moduleChromedp+"/cdproto/page"),
			"bench/go.mod":          "module example.org/m/bench\n",
			"bench/a.go":            importing("bench", "github.com/twmb/franz-go/pkg/kgo"),
			"internal/znode/a.go":   importing("znode", "strings"),
			"zktest/raw_test.go":    importing("zktest", moduleZooKeeper),
			"lock/testdata/odd.go":  importing("odd", "github.com/x/y"),
			"examples/one/main.go":  importing("main", "example.org/m/lock"),
			"session/internal/a.go": importing("internal", moduleZooKeeper),
		}, nil},
		{"a recipe past session", files{"lock/a.go": importing("lock", moduleZooKeeper)}, []string{
			"lock must not import " + moduleZooKeeper,
		}},
		{"what only tests need", files{"lock/a.go": importing("lock", moduleTestify+"/assert", moduleGoleak)}, []string{
			moduleTestify + "/assert", moduleGoleak,
		}},
		{"a logger of another project", files{"session/a.go": importing("session", "go.uber.org/zap")}, []string{"go.uber.org/zap"}},
		{"a flag library below the tool", files{"lock/a.go": importing("lock", moduleCobra, moduleFlags)}, []string{moduleCobra, moduleFlags}},
		{"a name that only begins alike", files{"session/a.go": importing("session", moduleZooKeeper+"extra")}, []string{"zkextra"}},
		{"a browser in a test of another", files{"cmd/zkr/a_test.go": importing("main", moduleChromedp+"/chromedp")}, []string{"chromedp"}},
		{"raw system calls in the tool", files{"cmd/zkr/a_test.go": importing("main", "unsafe")}, []string{"typed calls"}},
		{"docker in a test of another", files{"lock/a_test.go": importing("lock", "example.org/dockertest")}, []string{"dockertest"}},
		{"docker in the test support", files{"zktest/apache/a.go": importing("apache", "example.org/dockertest")}, []string{"dockertest"}},
	}
}

// The table of layers must not contradict itself: the allowed imports of a layer
// have a layer too, and no two layers may import each other.
func TestArrowsPointDownOnly(t *testing.T) {
	byFolder := map[string]layer{}
	for _, l := range layers() {
		require.NotContains(t, byFolder, l.folder, "two layers for the same folder")
		byFolder[l.folder] = l
	}
	passed := map[string]bool{} // with all that is below
	var visit func(folder string, above []string)
	visit = func(folder string, above []string) {
		require.NotContains(t, above, folder, "a circle: %v", above)
		if passed[folder] {
			return
		}
		l, ok := layerOf(folder)
		require.True(t, ok, folder)
		for _, to := range l.may {
			if n := len(to) - len("/..."); n > 0 && to[n:] == "/..." {
				if to = to[:n]; within(folder, to) || within(to, folder) {
					continue // folders within each other are one layer
				}
			}
			visit(to, append(slices.Clone(above), folder))
		}
		passed[folder] = true
	}
	for folder := range byFolder {
		visit(folder, nil)
	}
}

func TestTheLongestEntryDecidesAboutAFolder(t *testing.T) {
	for dir, want := range map[string]string{
		"session":               "session",
		"session/internal/wire": "session/internal",
		"zktest/apache":         "zktest/apache",
		"zktest/internal/tree":  "zktest/internal",
		"internal/house":        "internal/house",
		"internal/contender":    "internal",
		"cmd/zkr":               "cmd",
		"rebalanser/plan":       "rebalanser",
	} {
		l, ok := layerOf(dir)
		require.True(t, ok, dir)
		require.Equal(t, want, l.folder)
	}
	_, ok := layerOf("sessions")
	require.False(t, ok, "a longer name with the same beginning")
}
