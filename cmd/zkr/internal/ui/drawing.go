package ui

import (
	"embed"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

//go:embed templates
var files embed.FS

// templates are the pieces of HTML for pages.
var templates = template.Must(template.New("").Funcs(functions()).ParseFS(files, "templates/*.html")) // read only

// drawing draws a page of a view.
type drawing struct {
	*View
	question
	page *page
	err  error // the first of the templates'
}

func (d *drawing) draw() ([]web.Block, error) {
	var out []web.Block
	if h := d.Health; !h.Loaded {
		out = append(out, d.block("loading", "", h))
		return out, d.err
	}
	if !d.Exists {
		out = append(out, d.block("nothing", "", d.Root))
	}
	if d.Refused != "" {
		out = append(out, d.block("refused", "", d.Refused))
		return out, d.err
	}
	out = append(out, d.page.draw(d)...)
	if d.Health.Stale {
		for i := range out {
			out[i].AsOf = d.Health.AsOf
		}
		out = slices.Insert(out, 0, d.block("unknown", "", d.Health))
	}
	return out, d.err
}

// block is the template with this name, filled in.
func (d *drawing) block(name, class string, data any) web.Block {
	return d.keyed(name, name, class, data)
}

func (d *drawing) keyed(name, key, class string, data any) web.Block {
	var out strings.Builder
	err := templates.ExecuteTemplate(&out, name, struct {
		*drawing
		It any
	}{d, data})
	if err != nil && d.err == nil {
		d.err = err
	}
	return web.Block{Key: key, Class: class, HTML: template.HTML(out.String())} // produced by html/template
}

// thing is the card of a thing.
func (d *drawing) thing(t *recognize.Thing) web.Block {
	class := ""
	switch t.Kind {
	case recognize.Counter:
		class = "third"
	case recognize.Group, recognize.Queue:
		class = "half"
	}
	return d.keyed("thing", string(t.Kind)+" "+ascii(t.Path), class, t)
}

// ascii is a path in unambiguous characters.
func ascii(path string) string {
	quoted := strconv.QuoteToASCII(path)
	if quoted == `"`+path+`"` {
		return path
	}
	return quoted
}

// missing is the content of a page that does not exist.
func (d *drawing) missing() []web.Block { return []web.Block{d.block("missing", "", nil)} }

// functions are those of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"ago":   web.Ago,
		"held":  heldBy,
		"node":  nodeURL,
		"text":  func(s string) string { return recognize.Text([]byte(s), 300) },
		"id":    func(s string) string { return recognize.Text([]byte(s), 80) },
		"split": split,
		"count": count,
		"add":   func(a, b int) int { return a + b },
		"neg":   func(n int) int { return -n },
		"hex":   func(n int64) string { return fmt.Sprintf("%#x", n) },
		"chips": chips, "links": chain,
		"spark": spark, "bar": bar,
		"cells": cells, "matrix": matrix, "dots": dots, "slots": slots,
		"time":      func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000 MST") },
		"size":      size,
		"thousands": thousands, "groups": groups,
		"few": first, "jobparts": jobParts, "taskparts": taskParts,
	}
}

// parted is a path with its last element, the important one, apart.
type parted struct{ Up, Name string }

func split(path string) parted {
	path = recognize.Text([]byte(path), 300)
	i := strings.LastIndexByte(path, '/')
	return parted{path[:i+1], path[i+1:]}
}

// count says how many there are of something.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return thousands(n) + " " + what + "s"
}

// thousands is a number in readable form.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:] // a narrow space
	}
	return text
}

// groups are the digits of a number by thousands, set apart by a style: a
// copied number has no spaces.
func groups(n int64) []string { return strings.Split(thousands(int(n)), "\u202f") }

// size is a length in bytes for people.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.2f MB", float64(n)/1e6)
}

// first is few for templates.
func first(most int, list any) any {
	v := reflect.ValueOf(list)
	return v.Slice(0, min(v.Len(), most)).Interface()
}

// few are the first of a list.
func few[T any](most int, list []T) []T { return list[:min(len(list), most)] }
