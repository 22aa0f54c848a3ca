package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// turn is a forbidden turn of phrase, with its replacement.
type turn struct {
	found *regexp.Regexp
	write string
}

// turns are for all prose: comments, documents, pages, and the texts printed by programs.
// A text that first does not match has none of them.
func turns() (first *regexp.Regexp, out []turn) {
	var all []string
	for found, write := range map[string]string{
		`anew`:                       "again, or the verb retry",
		`for ever`:                   "indefinitely",
		`under way`:                  "in progress, or in flight",
		`(beside|behind) each other`: "concurrently, or one after another",
		`as a rule`:                  "usually",
		`comes? to be`:               "is created",
		`is no (\w+ )?(text|number|list|path|release)`: "is not a text, or is invalid",
		`an argument is none`:                          "an argument is invalid",
		`least advance`:                                "smallest margin",
		`so (many|much)`:                               "the number, as in: n permits",
		`looks? on`:                                    "observes, or inspects",
		`(which|that|it) is none`:                      "the noun: does not exist, or is invalid",
		`(end(s|ed)?|left|leaves?|stop(s|ped)?|give[ns]? up) in order`: "gracefully",
		`(of|by|for|to|from|with|than) who`:                            "the noun: of the holder, to a waiting client",

		`[Ww]hoever`: "any client that, or the noun",
		`[Nn]obody|[Ss]omebody|[Ss]omeone|[Ee]verybody`: "the noun: no client, another client, the holder, all members",
		`behavio[u]r|colo[u]r|favo[u]r|hono[u]r|neighbo[u]r|label[l]ed|cancel[l](ed|ing)|licen[c]e|catalog[u]e|(serial|recogn|organ|initial|synchron)is(e[ds]?|ing|ation)`: "the American spelling",
	} {
		out = append(out, turn{regexp.MustCompile(`(^|[^\w/.-])(` + found + `)\b`), write})
		all = append(all, found)
	}
	all = append(all, "there")
	// "is there" where nothing follows means "exists"; elsewhere it may be a question.
	out = append(out, turn{regexp.MustCompile(`(^|\W)((is|are|was|were) there)([.,;:)]|$)`), "exists, or is present"})
	return regexp.MustCompile(`\b(` + strings.Join(all, "|") + `)\b`), out
}

// subject finds a sentence of a comment whose subject is a clause.
var subject = regexp.MustCompile(`(^|[.:;] )(Who|What|Those who) [^?]*?(\.|$)`) // read only

// testNames finds tests whose names are no sentences with a noun as the subject.
func testNames(f *File) (out []Finding) {
	for _, decl := range f.Syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && awkward.MatchString(fn.Name.Name) {
			out = append(out, f.finding(fn.Pos(), "%s: name the test by a sentence with a noun as its subject", fn.Name.Name))
		}
	}
	return out
}

// awkward finds clauses as subjects, and words that texts may not have.
var awkward = regexp.MustCompile(`^Test(What|Who|Whoever)[A-Z]|Anew|ForEver$|ForEver_|ThatIsNone`) // read only

// Language: comments, documents, pages and texts keep to the project's English: no
// turns that a reader has to read twice, American spelling, and concrete nouns as the
// subjects of sentences. The rules themselves, and quotations, are left out.
func Language(t *Tree) []Finding {
	var out []Finding
	first, all := turns()
	check := func(f *File, line int, text string) {
		if !first.MatchString(text) {
			return
		}
		for _, turn := range all {
			if m := turn.found.FindStringSubmatch(text); m != nil {
				out = append(out, Finding{f.Path, line, "\"" + m[2] + "\": write " + turn.write})
			}
		}
	}
	for _, f := range t.Files {
		switch {
		case within(f.Dir(), "internal/house"):
		case path.Ext(f.Path) == ".md", path.Ext(f.Path) == ".html":
			for i, line := range strings.Split(f.Text, "\n") {
				check(f, i+1, line)
			}
		case f.Syntax != nil:
			for _, group := range f.Syntax.Comments {
				for _, c := range group.List {
					check(f, f.fset.Position(c.Pos()).Line, c.Text)
				}
				if m := subject.FindString(spaced(group)); m != "" {
					out = append(out, Finding{f.Path, f.fset.Position(group.Pos()).Line, "a clause as the subject: " + m})
				}
			}
			if f.Test() {
				out = append(out, testNames(f)...)
				continue
			}
			ast.Inspect(f.Syntax, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					check(f, f.fset.Position(lit.Pos()).Line, lit.Value)
				}
				return true
			})
		}
	}
	return out
}
