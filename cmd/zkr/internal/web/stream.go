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
	// alive is the interval of messages without changes, so that both ends
	// notice the loss of the other.
	alive = 15 * time.Second
	// writeLimit bounds the sending of an event to a client that does not read.
	// writeLimit replaces the server's limit of an answer, and is longer than
	// alive, so each message extends the deadline in time.
	writeLimit = 20 * time.Second
)

// update is a message of a stream: the blocks of each region, with the HTML of
// the blocks missing on the page.
type update struct {
	// Now is the server's time in milliseconds, for ages.
	Now int64 `json:"now"`
	// Of identifies the content of the stream: a page of other content must be
	// reloaded.
	Of      string                 `json:"of"`
	Regions map[string][]reference `json:"regions"`
}

// reference names a block; HTML is nil if already sent.
type reference struct {
	Key   string  `json:"key"`
	Hash  string  `json:"hash"`
	Class string  `json:"class,omitempty"`
	AsOf  int64   `json:"asof,omitempty"`
	HTML  *string `json:"html,omitempty"`
}

// Stream keeps a page up to date: after each change announced by hub, Stream
// sends the differences between the result of render and the page, at most four
// times a second. Stream returns when the client has gone, the server ends, render
// fails, or the client's [Identity] is not valid any more. A hub has 64 streams at
// most: further clients are told to retry. A page with another Frame.Of is told to
// reload: another server has taken the address of the server that wrote the page.
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

// stream is a stream to one client.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	of      string
	sent    map[string]string // region and key: hash of the block on the page
	shown   string            // digest of the client's page
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
			if !isStillValid(ctx) {
				return // the client's next request is refused, or authenticated again
			}
			// An event, not a comment: scripts do not see comments.
			if s.write([]byte("event: alive\ndata: {}\n\n")) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// update sends the differences to the client's page.
func (s *stream) update(regions []Region) error {
	is, sent := digest(regions), map[string]string{}
	same := s.shown == is // initially the same: the page itself is complete
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
	if err := json.NewEncoder(&out).Encode(u); err != nil { // a single line, with escaped HTML
		return fmt.Errorf("encode an update: %w", err)
	}
	out.WriteString("\n")
	return s.write(out.Bytes())
}

func (s *stream) write(text []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // not all writers have a deadline
	if _, err := s.w.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}
