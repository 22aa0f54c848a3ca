package house

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func wordExamples() []example {
	return []example{
		{"the project", files{
			"README.md":        "Locks at work, with a network of workers. It is engineered; ~/go is home.\n",
			"lock/a.go":        "package lock\n\n// f does no todo list: toDo and Todo are names.\nfunc f() {}\n",
			".ci/run":          "apt-get from http://deb.deb" + "ian.org/debian\n",
			"scripts/image.sh": "curl https://registry.np" + "mjs.org\n",
			"docs/testing.md":  "Debian's package dock" + "er.io, files in /usr/share/java and /tmp\n",
		}, nil},
		{"paths of one machine", files{
			"docs/a.md": "see /wo" + "rk/main\nand /tmp/ba" + "sh_jobs.0\n",
			"lock/a.go": "package lock\n\nconst dir = \"/ro" + "ot/go\"\n",
		}, []string{"docs/a.md:1", "docs/a.md:2", "lock/a.go:3"}},
		{"registries", files{"Makefile": "GOPROXY=https://proxy.gol" + "ang.org\npull dock" + "er.io/zookeeper\n"}, []string{
			"Makefile:1: \"proxy.gol" + "ang.org\": a registry's host", "Makefile:2",
		}},
		{"the workplace", files{
			"CHANGELOG.md": "Thanks to the other engine" + "ers and Team" + "mates.\n",
			"lock/a.go":    "package lock\n\n// A colle" + "ague asked.\nfunc f() {}\n",
		}, []string{"CHANGELOG.md:1", "CHANGELOG.md:1", "lock/a.go:3"}},
		{"unfinished", files{"lock/a.go": "package lock\n\n// TO" + "DO: more.\n// FIX" + "ME too.\nfunc f() {}\n"}, []string{
			"lock/a.go:3", "lock/a.go:4",
		}},
		{"also in what is no code", files{"lock/testdata/a.go": "TO" + "DO\n"}, []string{"lock/testdata/a.go:1"}},
	}
}

func TestWordsSaysWhy(t *testing.T) {
	for _, o := range outsiders() {
		require.NotEmpty(t, o.why, o.pattern)
	}
}
