package doctor

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// Finding is something that needs attention.
type Finding struct {
	Level recognize.Level `json:"level"`
	// Name is the same for all findings of a kind; docs/doctor.md has a section for each.
	Name string `json:"name"`
	// Where is a server, a path, or "ensemble".
	Where    string `json:"where"`
	Evidence string `json:"evidence"`
	Meaning  string `json:"meaning"`
	Remedy   string `json:"remedy"`
	// More is the section of the documentation.
	More string `json:"more"`
}

// Unseen is something that could not be examined.
type Unseen struct {
	Where  string `json:"where"`
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// ensemble is where findings are that concern no single server.
const ensemble = "ensemble"

// newFinding makes a finding; the catalog has the rest.
func newFinding(name string, level recognize.Level, where, evidence string) Finding {
	e := explain(name)
	return Finding{level, name, where, evidence, e.meaning, e.remedy, Section(name)}
}

// Section is the section of the documentation about a finding.
func Section(name string) string {
	return "docs/doctor.md#" + strings.ReplaceAll(name, ".", "")
}

// Sort puts the worst finding first.
func Sort(all []Finding) {
	rank := func(f Finding) int { return slices.Index(recognize.Levels(), f.Level) }
	slices.SortStableFunc(all, func(a, b Finding) int { return rank(a) - rank(b) })
}

// Problems turns the problems that were recognized in znodes into findings.
func Problems(things []*recognize.Thing) (out []Finding) {
	for _, t := range things {
		for _, p := range t.Problems {
			out = append(out, newFinding(ApplicationName(t.Kind), p.Level, p.Path, p.Text))
		}
	}
	return out
}

// ApplicationName is the name of the findings about a kind of thing.
func ApplicationName(kind recognize.Kind) string {
	return "app." + strings.NewReplacer(" ", "-", "/", "-").Replace(string(kind))
}
