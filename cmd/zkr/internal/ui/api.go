package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// document is the view for programs. Its fields, at all levels, keep their
// names and meanings; fields may be added (testdata/api.golden).
type document struct {
	Root string `json:"root"`
	// Loaded is false during the first read of the tree: the document is empty
	// until then.
	Loaded bool `json:"loaded"`
	// Stale: ZooKeeper is away, and the document shows the state at AsOf.
	Stale bool      `json:"stale"`
	AsOf  time.Time `json:"as_of"`
	// ReadOnly is the server without a quorum that answers instead, "" for none.
	ReadOnly string `json:"read_only"`
	Nodes    int    `json:"znodes"`
	// Denied are the paths of unreadable znodes.
	Denied   []string             `json:"not_readable"`
	Things   []*recognize.Thing   `json:"things"`
	Sessions []*recognize.Session `json:"sessions"`
	// Servers are those that were asked last, and Findings is what needs attention there.
	Servers  []doctor.Row     `json:"servers"`
	Findings []doctor.Finding `json:"findings"`
	// Moment is set if the state is of the past.
	Moment *pastDocument `json:"moment,omitempty"`
	// Next is the parameter "after" for the next part of each list; missing
	// after the last part.
	Next string `json:"next,omitempty"`
}

// serveAPI serves the view to programs: the things that match the filter, and all
// other lists, or a part of them.
func (s *server) serveAPI(w http.ResponseWriter, r *http.Request) {
	form := r.URL.Query()
	v, err := s.viewAt(r.Context(), form.Get("at"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if v.Moment != nil && v.Moment.Failed != nil {
		http.Error(w, v.Moment.explain(), v.Moment.statusCode())
		return
	}
	filter := form.Get("q")
	if why := explainRefusal(filter); why != "" {
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
		Root: v.Root, Loaded: v.Health.Loaded, Stale: v.Health.Stale, ReadOnly: v.Health.ReadOnly, AsOf: v.At, Nodes: v.Nodes,
		Denied: v.Denied, Things: d.matchingThings(v.Things), Sessions: v.Sessions,
		Servers: doctor.Rows(v.Audit.Servers), Findings: nonNil(v.Audit.Findings), Moment: v.Moment.document(),
	}
	out.cutLists(limit, after)
	out.Sessions = slices.Clone(out.Sessions)
	for i, s := range out.Sessions {
		out.Sessions[i] = v.withConnection(s)
	}
	if v.Health.Stale {
		out.AsOf = v.Health.AsOf
	}
	text, err := json.MarshalIndent(out, "", "  ") // escapes characters unsafe in HTML
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(escapeInvisible(text), '\n')) // a disconnected client needs no answer
}

// nonNil makes a list that is also a list in JSON if empty.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// escapeInvisible escapes characters in JSON that are invisible or change the direction of
// writing; the meaning stays the same.
func escapeInvisible(text []byte) []byte {
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
