package ui

import (
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/session"
)

// The words of a filter are searched in all things, for each open page, up to
// four times a second.
const (
	maxFilter = 200 // bytes
	maxWords  = 8
)

// question is a reader's request. One goroutine uses a question.
type question struct {
	// Filter has the words to search, Path is a znode, Page the part of a long
	// list, from 1.
	Filter, Path string
	Page         int
	// Facet is the state of the shown things; "" for all. Order is that of a table.
	Facet string
	Order order
	// Mark names the moment of a page about the past; empty for the newest.
	Mark string
	// Refused is the reason for not searching the filter; Filter then has only
	// the beginning of the text.
	Refused string
	// access is the access list of the znode at Path.
	access access
}

func (s *server) parseQuestion(r *http.Request, p *page) *question {
	form := r.URL.Query()
	q := &question{Filter: form.Get("q"), Path: form.Get("path"), Mark: form.Get("at"), Page: 1, Facet: parseFacet(form.Get("state")), Order: parseOrder(form)}
	if q.Refused = explainRefusal(q.Filter); q.Refused != "" {
		q.Filter = cutBeginning(q.Filter, maxFilter)
	}
	if n, err := strconv.Atoi(form.Get("page")); err == nil && n > 0 {
		q.Page = n
	}
	if !p.node && p.list == nil {
		q.Path = ""
	}
	if p.node && (q.Path == "" || session.ValidatePath(q.Path) != nil) {
		q.Path = s.top()
	}
	return q
}

// statusCode is the status of the answer.
func (q *question) statusCode() int {
	if q.Refused != "" {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// explainRefusal describes the defect of a filter; "" for a valid filter.
func explainRefusal(filter string) string {
	switch {
	case len(filter) > maxFilter:
		return "The filter is too long: " + strconv.Itoa(maxFilter) + " bytes at most."
	case len(strings.Fields(filter)) > maxWords:
		return "The filter has too many words: " + strconv.Itoa(maxWords) + " at most."
	}
	return ""
}

// cutBeginning cuts a text to most bytes without a broken
// character.
func cutBeginning(text string, most int) string {
	text = text[:min(len(text), most)]
	for len(text) > 0 {
		if r, n := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || n != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text
}
