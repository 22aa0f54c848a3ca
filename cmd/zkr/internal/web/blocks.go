package web

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Block is a piece of a page: HTML that is replaced as a whole when changed.
// Key identifies the block within its region.
type Block struct {
	Key  string
	HTML template.HTML
	// Class of the element around it. Default: none.
	Class string
	// AsOf is the time of the shown state, if the present state is unknown: ages
	// are relative to AsOf, and do not grow. Default: now.
	AsOf time.Time
}

// asOf is AsOf in milliseconds, 0 for now.
func (b Block) asOf() int64 {
	if b.AsOf.IsZero() {
		return 0
	}
	return b.AsOf.UnixMilli()
}

// hash distinguishes versions of a block, except for their moments.
func (b Block) hash() string {
	sum := sha256.Sum256([]byte(b.Class + "\x00" + string(b.HTML)))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Region is a part of a page whose blocks come and go.
type Region struct {
	Name   string
	Blocks []Block
}

// digest tells different pages apart.
func digest(regions []Region) string {
	sum := sha256.New()
	for _, r := range regions {
		sum.Write([]byte("\x00" + r.Name))
		for _, b := range r.Blocks {
			sum.Write([]byte("\x00" + b.Key + "\x00" + b.hash() + strconv.FormatInt(b.asOf(), 10)))
		}
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12])
}

// write writes a region's blocks with their ages as of now, or of their moments.
func (r Region) write(out *strings.Builder, now time.Time) {
	for _, b := range r.Blocks {
		out.WriteString(`<div class="block ` + template.HTMLEscapeString(b.Class) + `" data-key="` + template.HTMLEscapeString(b.Key) +
			`" data-hash="` + b.hash() + `"`)
		at := now
		if asOf := b.asOf(); asOf != 0 {
			at = b.AsOf
			out.WriteString(` data-asof="` + strconv.FormatInt(asOf, 10) + `"`)
		}
		out.WriteString(">")
		writeAged(out, string(b.HTML), at)
		out.WriteString("</div>\n")
	}
}

// The parts of the element of an age before and behind the moment.
const (
	agoOpen  = `<time data-ago="`
	agoClose = `></time>`
)

// Ago is an element that shows how long ago t was, with the time itself on
// hover. Its text is filled in on display, so aging alone does not change a
// block.
func Ago(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	at := t.UTC()
	return template.HTML(agoOpen + strconv.FormatInt(at.UnixMilli(), 10) + `" datetime="` + at.Format("2006-01-02T15:04:05.000Z") +
		`" title="` + t.Local().Format("2006-01-02 15:04:05 MST") + `"` + agoClose) // digits and such, no foreign text
}

// writeAged writes HTML with the texts of the ages.
func writeAged(out *strings.Builder, html string, now time.Time) {
	for {
		before, rest, ok := strings.Cut(html, agoOpen)
		out.WriteString(before)
		if !ok {
			return
		}
		head, after, ok := strings.Cut(rest, agoClose)
		out.WriteString(agoOpen)
		if !ok {
			out.WriteString(rest)
			return
		}
		digits, _, _ := strings.Cut(head, `"`)
		out.WriteString(head + ">")
		if ms, err := strconv.ParseInt(digits, 10, 64); err == nil {
			out.WriteString(Age(now.Sub(time.UnixMilli(ms))))
		}
		out.WriteString("</time>")
		html = after
	}
}

// Age is a duration in readable form, the same as in live.js: its two greatest
// units.
func Age(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	n := func(n int64, unit string) string { return strconv.FormatInt(n, 10) + unit }
	switch {
	case s < 60:
		return n(s, "s")
	case s < 3600:
		return n(s/60, "m ") + n(s%60, "s")
	case s < 24*3600:
		return n(s/3600, "h ") + n(s%3600/60, "m")
	}
	return n(s/(24*3600), "d ") + n(s%(24*3600)/3600, "h")
}
