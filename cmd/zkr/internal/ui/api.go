package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// document is what there is, for programs. Its fields, and those of what is in it,
// keep their names and their meaning; others may come (testdata/api.golden).
type document struct {
	Root string `json:"root"`
	// Loaded is false while the tree is read for the first time: nothing is
	// told of it until then.
	Loaded bool `json:"loaded"`
	// Stale: ZooKeeper is away, and this is how it was at AsOf.
	Stale bool      `json:"stale"`
	AsOf  time.Time `json:"as_of"`
	Nodes int       `json:"znodes"`
	// Denied are the paths of the znodes that may not be read.
	Denied   []string             `json:"not_readable"`
	Things   []*recognize.Thing   `json:"things"`
	Sessions []*recognize.Session `json:"sessions"`
	// Next is what to ask with, as "after", for the next part of each list; it is
	// missing if there is none.
	Next string `json:"next,omitempty"`
}

// api serves what there is, for programs: the things that fit the filter, and all
// the rest; or a part of it.
func (s *server) api(w http.ResponseWriter, r *http.Request) {
	v, form := s.model.View(), r.URL.Query()
	filter := form.Get("q")
	if why := refusal(filter); why != "" {
		http.Error(w, why, http.StatusBadRequest)
		return
	}
	limit, after, err := partOf(form)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d := &drawing{View: v, question: question{Filter: filter}}
	out := document{
		Root: v.Root, Loaded: v.Health.Loaded, Stale: v.Health.Stale, AsOf: v.At, Nodes: v.Nodes,
		Denied: v.Denied, Things: d.matching(v.Things), Sessions: v.Sessions,
	}
	out.cut(limit, after)
	if v.Health.Stale {
		out.AsOf = v.Health.AsOf
	}
	text, err := json.MarshalIndent(out, "", "  ") // escapes what HTML would not bear
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(seen(text), '\n')) // a client that has gone needs no answer
}

// some is a list that is one in JSON even if there is nothing in it.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// seen is JSON in which characters that cannot be seen, or turn the direction of
// writing, are escaped: it means the same.
func seen(text []byte) []byte {
	odd := func(r rune) bool { return r == 0x7f || r > 0x7f && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(text, odd) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		if !odd(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
