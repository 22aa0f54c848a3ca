package house

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The documents that list the requirements of the project, and the bugs of other
// clients that the project must avoid.
const (
	requirementsDoc = "docs/project/requirements.md"
	museumDoc       = "docs/project/museum.md"
)

// The status of an id in a row.
const (
	statusDone    = "done"             // implemented, and the row's test names the id
	statusOther   = "done differently" // done, and the row names the difference and the reason
	statusPlanned = "planned"          // the row names the package for the implementation
	statusNone    = "not ours"         // no counterpart here; the row says why
	statusLimit   = "stays so"         // a limit without a remedy; the row says why
	columns       = 5                  // id, statement, status, where, test
	idPattern     = `[A-Z]{1,2}\d+`    // a letter or two, and a number
)

// requiredIDs lists the required ids of each document.
func requiredIDs(doc string) []string {
	switch doc {
	case requirementsDoc:
		return spread("R1-52 M1-28 D1-19 T1-27 N1-37 X1-14 W1-12 S1-7 Z1-17")
	case museumDoc:
		return spread("CL1-8 CL10 CL14-19 CH1-12 CH14-28 CH30-42 CH44-58 CH60-64 " +
			"P1-4 P6-7 P9-12 P14-29 PD1-4 PD6 PD8-12")
	}
	return nil
}

// spread turns "R1-3 P7" into R1, R2, R3, P7.
func spread(ranges string) []string {
	var out []string
	for _, r := range strings.Fields(ranges) {
		letters := r[:strings.IndexAny(r, "0123456789")]
		first, last, ok := strings.Cut(r[len(letters):], "-")
		if !ok {
			last = first
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		for i := from; i <= to; i++ {
			out = append(out, letters+strconv.Itoa(i))
		}
	}
	return out
}

// row is a line of a table of ids.
type row struct {
	line          int
	id            string
	status, where string
	test          string
}

var rowID = regexp.MustCompile(`^` + idPattern + `$`) // read only

// rows reads the tables of a document: lines of five cells, the first an id.
func rows(text string) []row {
	var out []row
	for i, line := range strings.Split(text, "\n") {
		cells := cellsOf(line)
		if len(cells) == 0 || !rowID.MatchString(cells[0]) {
			continue
		}
		for len(cells) < columns {
			cells = append(cells, "")
		}
		out = append(out, row{line: i + 1, id: cells[0], status: cells[2], where: cells[3], test: cells[4]})
	}
	return out
}

// cellsOf returns the cells of a line of a table, without empty ones at the end; none if
// the line is not of a table.
func cellsOf(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "| "), "|")
	for i := range cells {
		cells[i] = strings.Trim(strings.ReplaceAll(cells[i], "\x00", "|"), " `")
	}
	return cells
}

// Requirements: both documents list every id exactly once, with a status. A row
// with the status "done" names an existing file or folder and test files, each of
// which mentions the id in a test's name, in a comment or in a string. A row with
// the status "done differently" also gives the reason. A planned row names the
// package for the implementation. Every other row gives the reason.
func Requirements(t *Tree) []Finding {
	mentioned := t.mentions()
	exists := map[string]bool{}
	for _, f := range t.Files {
		for p := f.Path; p != "."; p = path.Dir(p) {
			exists[p] = true
		}
	}
	var out []Finding
	for _, doc := range []string{requirementsDoc, museumDoc} {
		missing := map[string]bool{}
		for _, id := range requiredIDs(doc) {
			missing[id] = true
		}
		known := maps.Clone(missing)
		for _, r := range rows(t.text(doc)) {
			at := func(format string, args ...any) {
				out = append(out, Finding{Path: doc, Line: r.line, Text: r.id + ": " + fmt.Sprintf(format, args...)})
			}
			switch {
			case !known[r.id]:
				at("is not an id of this document")
			case !missing[r.id]:
				at("is listed twice")
			default:
				r.check(mentioned, exists, at)
			}
			delete(missing, r.id)
		}
		for _, id := range slices.Sorted(maps.Keys(missing)) {
			out = append(out, Finding{Path: doc, Text: id + ": has no row"})
		}
	}
	return out
}

func (r row) check(mentioned map[string][]string, exists map[string]bool, report func(string, ...any)) {
	switch r.status {
	case statusDone, statusOther:
		where, why, _ := strings.Cut(r.where, ":")
		if why = strings.TrimSpace(why); r.status == statusOther && why == "" {
			report("is done differently, but the row does not say why: package, colon, reason")
		}
		if r.status == statusOther {
			r.where = where
		}
		if r.where == "" || r.test == "" {
			report("is done, but the row does not say where, or which test shows it")
		}
		for _, place := range strings.Fields(strings.ReplaceAll(r.where, ",", " ")) {
			if place = strings.Trim(place, "`/"); !exists[place] {
				report("is done in %s, which does not exist", place)
			}
		}
		for _, file := range strings.Fields(strings.NewReplacer(",", " ", "`", "").Replace(r.test)) {
			if !slices.Contains(mentioned[r.id], file) {
				report("is done, but %s does not mention it", file)
			}
		}
	case statusPlanned:
		if _, ok := layerOf(strings.Trim(r.where, "`/")); !ok {
			report("is planned for %q, which is not a package of the design", r.where)
		}
	case statusNone, statusLimit:
		if r.where == "" {
			report("does not say why")
		}
	default:
		report("has status %q", r.status)
	}
}

func (t *Tree) text(p string) string {
	for _, f := range t.Files {
		if f.Path == p {
			return f.Text
		}
	}
	return ""
}

// An id as a word: an underscore may stand before and after the id, as in the name
// of a test.
var word = regexp.MustCompile(`[A-Za-z0-9]+`) // read only

// mentions finds the ids in each test file: in comments, in strings and in names of
// functions. Other identifiers do not count: names like P1 or T1 often have another
// meaning.
func (t *Tree) mentions() map[string][]string {
	out := map[string][]string{}
	t.code(func(f *File) {
		if !f.Test() || within(f.Dir(), "internal/house") {
			return
		}
		found := map[string]bool{}
		see := func(text string) {
			for _, w := range word.FindAllString(text, -1) {
				if rowID.MatchString(w) {
					found[w] = true
				}
			}
		}
		for _, g := range f.Syntax.Comments {
			see(g.Text())
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				see(n.Name.Name)
			case *ast.BasicLit:
				see(n.Value)
			}
			return true
		})
		for id := range found {
			out[id] = append(out[id], f.Path)
		}
	})
	return out
}
