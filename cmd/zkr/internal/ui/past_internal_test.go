package ui

import (
	"context"
	"errors"
	"html/template"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// readPast is the past of a scene that has been read.
func readPast(t *testing.T) (*Past, history.Overview) {
	t.Helper()
	f, err := txnlog.OpenFolder("zk1", "../history/testdata/scene")
	require.NoError(t, err)
	a := history.NewArchive(&history.Origin{Servers: []*txnlog.Folder{f}}, "/")
	require.NoError(t, a.Read(t.Context()))
	o, read := a.Overview()
	require.True(t, read)
	return NewPast(a, []string{"zk1"}), o
}

// Requests for one moment share one reading, which ends when the last of them leaves.
func TestRequestsShareAReading(t *testing.T) {
	p, o := readPast(t)
	one := p.join(t.Context(), o.LastMark, o)
	two := p.join(t.Context(), o.LastMark, o)
	require.Same(t, one, two)
	p.leave(o.LastMark, one)
	require.Len(t, p.flights, 1, "one still waits")
	<-two.done
	require.NoError(t, two.err)
	p.leave(o.LastMark, two)
	require.Empty(t, p.flights)
	v, err := p.viewAt(t.Context(), o.LastMark.String())
	require.NoError(t, err)
	require.Same(t, two.view, v, "the view is kept")
}

func TestReadingEndsWhenAllRequestsHaveLeft(t *testing.T) {
	p, o := readPast(t)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.viewAt(over, o.LastMark.String())
	if err != nil { // it may have been faster
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Empty(t, p.flights)
	ctx, leave := context.WithCancel(t.Context())
	f := &flight{done: make(chan struct{}), waiting: 1, cancel: leave}
	p.flights[o.FirstMark] = f
	p.leave(o.FirstMark, f)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	_, err = p.viewAt(t.Context(), o.FirstMark.String())
	require.NoError(t, err, "a later request begins again")
}

// The last views are kept, and no more of them.
func TestFewViewsAreKept(t *testing.T) {
	p, _ := readPast(t)
	for _, at := range []string{"0x1", "0x2", "0x3", "0x4", "0x3"} {
		_, err := p.viewAt(t.Context(), at)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.views), keptViews)
	}
}

func TestLinksOfHTMLKeepTheMoment(t *testing.T) {
	for html, want := range map[string]string{
		`<a href="/locks">`: `<a href="/locks?at=2026~1">`,
		`<a href="?">`:      `<a href="?at=2026~1">`,
		`<tr data-href="/tree?path=%2Fa&amp;b=1">`:     `<tr data-href="/tree?at=2026~1&amp;path=%2Fa&amp;b=1">`,
		`<a href="?at=0x1&amp;q=a">`:                   `<a href="?at=0x1&amp;q=a">`,
		`<a href="#main"><a href="https://a.example">`: `<a href="#main"><a href="https://a.example">`,
		`text &#34;href=`:                              `text &#34;href=`,
	} {
		require.Equal(t, want, string(keepMoment(template.HTML(html), "2026~1")))
	}
}

// A failed request for a moment says why, and is not kept.
func TestFailureIsShown(t *testing.T) {
	p, o := readPast(t)
	v := p.failed(o.LastMark, o, errors.New("the disk is gone"))
	require.Equal(t, 500, v.Moment.statusCode())
	require.Equal(t, "the disk is gone", v.Moment.explain())
	require.WithinDuration(t, time.Now(), v.At, time.Minute)
}
