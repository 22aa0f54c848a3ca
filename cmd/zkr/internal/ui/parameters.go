package ui

import (
	"fmt"
	"net/url"
	"strconv"
)

// Kept are the parameters of the page that have a value, apart from the part and the
// moment: links and forms keep them.
func (q *question) Kept() map[string]string {
	out := map[string]string{}
	keep(out, "q", q.Filter)
	keep(out, "path", q.Path)
	keep(out, "state", q.Facet)
	if q.Order.By != "" {
		keep(out, "sort", q.Order.By)
		keep(out, "dir", map[bool]string{true: "asc", false: "desc"}[q.Order.Up])
	}
	return out
}

// keep sets a parameter. A parameter without a value is left out of every address and form.
func keep(parameters map[string]string, name, value string) {
	if delete(parameters, name); value != "" {
		parameters[name] = value
	}
}

// hidden are the parameters that the form of the filter keeps.
func (q *question) hidden() map[string]string {
	out := q.Kept()
	delete(out, "q")
	return out
}

// link is the address of this page with other parameters, from its first part on.
func (q *question) link(change ...string) string {
	parameters := q.Kept()
	for i := 0; i < len(change); i += 2 {
		keep(parameters, change[i], change[i+1])
	}
	v := url.Values{}
	for name, value := range parameters {
		v.Set(name, value)
	}
	return "?" + v.Encode()
}

// MomentLink is the address of the page at another moment, a history.Mark or its text.
func (q *question) MomentLink(mark any) string { return q.link("at", fmt.Sprint(mark)) }

// PageLink is the address of a part of the list.
func (q *question) PageLink(n int) string { return q.link("page", strconv.Itoa(n)) }

// IsNarrowed reports whether the reader has asked for some things only.
func (q *question) IsNarrowed() bool { return q.Filter != "" || q.Facet != "" }

// Numbers are the numbers of parts to link to: the first and the last two, and those
// around the present part; 0 stands for a gap.
func (p paging) Numbers() (out []int) {
	for n := 1; n <= p.Pages; n++ {
		switch {
		case n <= 2, n > p.Pages-2, n >= p.Page-2 && n <= p.Page+2:
			out = append(out, n)
		case out[len(out)-1] != 0:
			out = append(out, 0)
		}
	}
	return out
}

// listURL is the address of the list of a thing's tasks, workers or instances.
func listURL(page, path string) string { return page + "?path=" + url.QueryEscape(path) }
