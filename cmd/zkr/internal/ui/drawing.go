package ui

import (
	"embed"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

//go:embed templates
var files embed.FS

// templates are the pieces of HTML for pages.
var templates = template.Must(template.New("").Funcs(templateFuncs()).ParseFS(files, "templates/*.html")) // read only

// drawing draws a page of a view.
type drawing struct {
	*View
	question
	page *page
	menu []*page
	// Acts: users may change something.
	Acts bool
	err  error // the first of the templates'
}

func (d *drawing) drawPage() ([]web.Block, error) {
	var out []web.Block
	if h := d.Health; !h.Loaded && !d.page.aside {
		out = append(out, d.renderBlock("loading", "", h))
		return out, d.err
	}
	if !d.Exists && !d.page.aside {
		out = append(out, d.renderBlock("nothing", "", d.Root))
	}
	if d.Refused != "" {
		out = append(out, d.renderBlock("refused", "", d.Refused))
		return out, d.err
	}
	out = append(out, d.drawContent()...)
	if d.Health.Stale && !d.page.aside {
		for i := range out {
			out[i].AsOf = d.Health.AsOf
		}
		out = slices.Insert(out, 0, d.renderBlock("unknown", "", d.Health))
	}
	return out, d.err
}

// Here is the address of the page without parameters.
func (d *drawing) Here() string { return d.page.at }

// Name is the name of the page in the menu.
func (d *drawing) Name() string { return d.page.name }

// renderBlock fills in the template with this name.
func (d *drawing) renderBlock(name, class string, data any) web.Block {
	return d.renderKeyed(name, name, class, data)
}

func (d *drawing) renderKeyed(name, key, class string, data any) web.Block {
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

// drawThing draws the card of a thing.
func (d *drawing) drawThing(t *recognize.Thing) web.Block {
	class := ""
	switch t.Kind {
	case recognize.Counter, recognize.Value:
		class = "third"
	case recognize.Group, recognize.Queue:
		class = "half"
	}
	return d.renderKeyed("thing", keyOfBlock(t), class, t)
}

// escapePath writes a path in unambiguous characters.
func escapePath(path string) string {
	quoted := strconv.QuoteToASCII(path)
	if quoted == `"`+path+`"` {
		return path
	}
	return quoted
}

// drawMissing draws the content of a missing page.
func (d *drawing) drawMissing() []web.Block { return []web.Block{d.renderBlock("missing", "", nil)} }

// templateFuncs are the functions of the templates.
func templateFuncs() template.FuncMap {
	return template.FuncMap{
		"ago":      web.Ago,
		"held":     heldBy,
		"node":     nodeURL,
		"breaking": breaking, "actionURL": actionURL, "list": listURL,
		"text":  func(s string) string { return recognize.Text([]byte(s), 300) },
		"id":    func(s string) string { return recognize.Text([]byte(s), 80) },
		"brief": brief, "runnable": runnable, "createCommand": createCommand, "watchCommand": watchCommand,
		"split": splitPath,
		"count": formatCount,
		"add":   func(a, b int) int { return a + b },
		"neg":   func(n int) int { return -n },
		"hex":   func(n int64) string { return fmt.Sprintf("%#x", n) },
		"chips": drawQueue, "links": watchedNames,
		"spark": drawHistory, "bar": drawBar,
		"cells": workerCells, "matrix": ownerMatrix, "dots": permitDots, "slots": partySlots,
		"time":      func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000 MST") },
		"clock":     func(t time.Time) string { return t.Local().Format("15:04:05") },
		"size":      formatSize,
		"thousands": groupThousands, "groups": splitThousands,
		"clients": func(s *doctor.Server) string {
			if n, known := s.Connections(); known {
				return fmt.Sprint(n)
			}
			return ""
		},
		"few": firstElements, "fewpairs": firstPairs, "jobparts": jobParts, "taskparts": taskParts,
	}
}

// brief is the beginning of data, with at most this many characters: data of any kind
// takes a bounded part of a page.
func brief(most int, data any) string {
	raw, known := data.([]byte)
	if !known {
		raw = []byte(fmt.Sprint(data))
	}
	text := []rune(recognize.Text(raw, most))
	if len(text) > most+1 {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// parted is a path with its last element, the important one, apart.
type parted struct{ Up, Name string }

func splitPath(path string) parted {
	path = recognize.Text([]byte(path), 300)
	i := strings.LastIndexByte(path, '/')
	return parted{path[:i+1], path[i+1:]}
}

// formatCount writes a number with its noun.
func formatCount(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		what = strings.TrimSuffix(what, "y") + "ie"
	}
	return groupThousands(n) + " " + what + "s"
}

// groupThousands writes a number in readable form.
func groupThousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:] // a narrow space
	}
	return text
}

// splitThousands splits the digits of a number by thousands, set apart by a style: a
// copied number has no spaces.
func splitThousands(n int64) []string { return strings.Split(groupThousands(int(n)), "\u202f") }

// formatSize writes a length in bytes for people.
func formatSize(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.2f MB", float64(n)/1e6)
}

// firstElements is firstOf for templates.
func firstElements(most int, list any) any {
	v := reflect.ValueOf(list)
	return v.Slice(0, min(v.Len(), most)).Interface()
}

// firstPairs returns the pairs of a map whose keys come first.
func firstPairs(most int, pairs map[string]string) map[string]string {
	out := make(map[string]string, min(len(pairs), most))
	for _, key := range firstOf(most, slices.Sorted(maps.Keys(pairs))) {
		out[key] = pairs[key]
	}
	return out
}

// firstOf returns the first elements of a list.
func firstOf[T any](most int, list []T) []T { return list[:min(len(list), most)] }
