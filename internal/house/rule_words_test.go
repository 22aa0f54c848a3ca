package house

import (
	"fmt"
	"regexp"
	"strings"
)

// outsider is a word that does not speak about the project.
type outsider struct {
	pattern *regexp.Regexp
	why     string
	but     []string // folders and files where it may stand
}

// outsiders are spelled in pieces, so that this file passes too.
func outsiders() []outsider {
	machine := "a path of one machine"
	host := "a registry's host: which one serves is the reader's business"
	unfinished := "finish it, or say in prose what is missing and why"
	workplace := "the text speaks about those who wrote it, not about the project"
	word := func(pieces ...string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b` + strings.Join(pieces, "") + `\b`)
	}
	text := func(pieces ...string) *regexp.Regexp {
		return regexp.MustCompile(regexp.QuoteMeta(strings.Join(pieces, "")))
	}
	scripts := []string{".ci", "scripts"}
	return []outsider{
		{text("/wo", "rk/"), machine, nil},
		{text("/tmp/ba", "sh_jobs"), machine, nil},
		{text("/tmp/sp", "ecs"), machine, nil},
		{text("/ro", "ot/"), machine, nil},
		{text("/ho", "me/"), machine, nil},
		{text("proxy.gol", "ang.org"), host, scripts},
		{text("sum.gol", "ang.org"), host, scripts},
		{text("deb.deb", "ian.org"), host, scripts},
		{text("registry.np", "mjs.org"), host, scripts},
		{text("dock", "er.io/"), host, scripts},
		{text("hub.dock", "er.com"), host, scripts},
		{word("engine", "ers?"), workplace, nil},
		{word("collea", "gues?"), workplace, nil},
		{word("co-?wor", "kers?"), workplace, nil},
		{word("team", "mates?"), workplace, nil},
		{word("sub-?ag", "ents?"), workplace, nil},
		{word("sand", "box"), workplace, nil},
		{word("co-auth", "ored-by"), workplace, nil},
		{text("TO", "DO"), unfinished, nil},
		{text("FIX", "ME"), unfinished, nil},
	}
}

// Words: the text of the repository speaks about the project alone.
func Words(t *Tree) []Finding {
	var out []Finding
	words := outsiders()
	for _, f := range t.Files {
		for i, line := range strings.Split(f.Text, "\n") {
			for _, o := range words {
				if found := o.pattern.FindString(line); found != "" && !o.allowed(f.Path) {
					out = append(out, Finding{Path: f.Path, Line: i + 1, Text: fmt.Sprintf("%q: %s", found, o.why)})
				}
			}
		}
	}
	return out
}

func (o outsider) allowed(p string) bool {
	for _, folder := range o.but {
		if within(p, folder) {
			return true
		}
	}
	return false
}
