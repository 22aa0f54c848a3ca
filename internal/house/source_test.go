package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Finding is a breach of a rule. Line is 0 for a breach of a whole file, and Path
// is empty for a breach of the whole tree.
type Finding struct {
	Path string
	Line int
	Text string
}

func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// File is a text file of the tree.
type File struct {
	Path   string // slash separated, relative to the module's root
	Text   string
	Syntax *ast.File // nil for other files than Go, and below a testdata folder

	fset *token.FileSet
}

// Tree is the files of a module, sorted by path.
type Tree struct {
	Module string // its import path
	Files  []*File
	Others []string // paths of binary files, such as pictures
}

// Load reads the module in fsys, except .git, the names in .gitignore of this
// project (bin, .cache, *.test, *.out), and files with a zero byte.
//
// Load fails without a go.mod, and for a Go file that does not parse.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("house: load: %w", err)
	}
	name := regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(mod)
	if name == nil {
		return nil, fmt.Errorf("house: load: go.mod names no module")
	}
	t := &Tree{Module: string(name[1])}
	fset := token.NewFileSet()
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", ".cache", "bin"}, p) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasSuffix(p, ".test") || strings.HasSuffix(p, ".out") {
			return nil
		}
		f, err := load(fsys, fset, p)
		switch {
		case f != nil:
			t.Files = append(t.Files, f)
		case err == nil:
			t.Others = append(t.Others, p)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("house: load: %w", err)
	}
	return t, nil
}

// load returns nil for a binary file.
func load(fsys fs.FS, fset *token.FileSet, p string) (*File, error) {
	text, err := fs.ReadFile(fsys, p)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return nil, err
	}
	f := &File{Path: p, Text: string(text), fset: fset}
	if path.Ext(p) == ".go" && !slices.Contains(strings.Split(p, "/"), "testdata") {
		f.Syntax, err = parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	}
	return f, err
}

// code calls fn for each Go file.
func (t *Tree) code(fn func(f *File)) {
	for _, f := range t.Files {
		if f.Syntax != nil {
			fn(f)
		}
	}
}

// local returns the folder of a package of this module, and false for the
// import path of any other.
func (t *Tree) local(importPath string) (dir string, ok bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// Dir is the file's folder.
func (f *File) Dir() string { return path.Dir(f.Path) }

// Test reports whether f is a Go test file, or belongs to a package that only tests
// import.
func (f *File) Test() bool {
	return strings.HasSuffix(f.Path, "_test.go") || supportsTests(f.Dir())
}

// line is the line of a position in the file.
func (f *File) line(p token.Pos) int { return f.fset.Position(p).Line }

func (f *File) finding(p token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.line(p), Text: fmt.Sprintf(format, args...)}
}

// imports returns the import path of each name imported by the file.
func (f *File) imports() map[string]string {
	out := map[string]string{}
	for _, spec := range f.Syntax.Imports {
		p := importPath(spec)
		name := path.Base(p)
		if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" {
			name = path.Base(path.Dir(p))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		out[name] = p
	}
	return out
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value // the parser has refused such a file before
	}
	return p
}

// within reports whether dir is folder or lies below folder.
func within(dir, folder string) bool {
	return dir == folder || strings.HasPrefix(dir, folder+"/")
}

// nested lists the folders of the modules below the root's.
func (t *Tree) nested() []string {
	var out []string
	for _, f := range t.Files {
		if path.Base(f.Path) == "go.mod" && f.Dir() != "." {
			out = append(out, f.Dir())
		}
	}
	return out
}
