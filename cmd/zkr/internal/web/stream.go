package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// pause is the shortest time between two events of a stream: four a second
	// are live for people, and no load.
	pause = 250 * time.Millisecond
	// alive is how often a stream says something when nothing changes, so that
	// both ends notice when the other has gone.
	alive = 15 * time.Second
	// writeLimit bounds the sending of an event to somebody who does not read. It
	// stands for the server's limit of an answer, and is longer than alive, so
	// that it is put off before it is reached.
	writeLimit = 20 * time.Second
)

// update is what a stream sends: which blocks each region has, and the HTML of
// those that are not there yet.
type update struct {
	// Now is the server's time, in milliseconds: ages are counted by it.
	Now int64 `json:"now"`
	// Of is what the stream shows: a page of something else must be reloaded.
	Of      string                 `json:"of"`
	Regions map[string][]reference `json:"regions"`
}

// reference names a block; HTML is nil if it was sent before.
type reference struct {
	Key   string  `json:"key"`
	Hash  string  `json:"hash"`
	Class string  `json:"class,omitempty"`
	AsOf  int64   `json:"asof,omitempty"`
	HTML  *string `json:"html,omitempty"`
}

// Stream keeps a page up to date: whenever hub has something, it sends what
// render makes different from what the page has. Nothing is sent when nothing is,
// and no more than four times a second. It returns when the reader has gone, the
// server ends, or render fails. A hub has 64 streams at most: further clients are told
// to come again. A page whose Frame.Of is another is told to reload itself: another
// server has taken the address of the server that wrote the page.
func Stream(w http.ResponseWriter, r *http.Request, hub *Hub, of string, render func() ([]Region, error)) {
	if !hub.enter() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many pages are open.", http.StatusServiceUnavailable)
		return
	}
	defer hub.leave()
	s := &stream{w: w, control: http.NewResponseController(w), of: identity(of), sent: map[string]string{}, shown: r.URL.Query().Get("have")}
	w.Header().Set("Content-Type", "text/event-stream")
	if s.write([]byte("retry: 1000\n\n")) != nil {
		return
	}
	beat := time.NewTicker(alive)
	defer beat.Stop()
	ctx, cancel := context.WithCancel(r.Context())
	news := make(chan int64)
	// Waited for by the drain below; ends with ctx.
	go func() {
		defer close(news)
		for version := int64(0); ; {
			var err error
			if version, err = hub.Wait(ctx, version); err != nil {
				return
			}
			select {
			case news <- version:
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range news { // until the goroutine has ended
		}
	}()
	s.follow(ctx, news, beat.C, render)
}

// stream is one reader.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	of      string
	sent    map[string]string // region and key: hash of what the reader has
	shown   string            // digest of the page that the reader has
}

func (s *stream) follow(ctx context.Context, news <-chan int64, beat <-chan time.Time, render func() ([]Region, error)) {
	for {
		select {
		case _, ok := <-news:
			if !ok {
				return
			}
			regions, err := render()
			if err != nil || s.update(regions) != nil {
				return
			}
			rest := time.NewTimer(pause)
			select {
			case <-rest.C:
			case <-ctx.Done():
				rest.Stop()
				return
			}
		case <-beat:
			// An event, not a comment, of which no script learns.
			if s.write([]byte("event: alive\ndata: {}\n\n")) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// update sends what differs from what the reader has.
func (s *stream) update(regions []Region) error {
	is, sent := digest(regions), map[string]string{}
	same := s.shown == is // at first: the page itself brought it all
	u := update{Now: time.Now().UnixMilli(), Of: s.of, Regions: map[string][]reference{}}
	for _, region := range regions {
		list := make([]reference, 0, len(region.Blocks))
		for _, b := range region.Blocks {
			ref, at := reference{Key: b.Key, Hash: b.hash(), Class: b.Class, AsOf: b.asOf()}, region.Name+"\x00"+b.Key
			if sent[at] = ref.Hash; s.sent[at] != ref.Hash {
				html := string(b.HTML)
				ref.HTML = &html
			}
			list = append(list, ref)
		}
		u.Regions[region.Name] = list
	}
	s.sent, s.shown = sent, is
	if same {
		return nil
	}
	var out bytes.Buffer
	out.WriteString("event: update\ndata: ")
	if err := json.NewEncoder(&out).Encode(u); err != nil { // one line, and HTML in it escaped
		return fmt.Errorf("encode an update: %w", err)
	}
	out.WriteString("\n")
	return s.write(out.Bytes())
}

func (s *stream) write(text []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // not all writers have one
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}
