package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// limit bounds each step of a page.
const limit = 2 * time.Minute

// Page is a tab. Each error in the tab fails its test.
type Page struct {
	t   testing.TB
	ctx context.Context

	// mu guards the complaints of the page on the console above information, in order, and
	// the number of requests that a change of the network has ended.
	mu         sync.Mutex
	complaints []string
	dropped    int
}

// networkChanged is Chromium's error for the requests that it drops when this machine
// gets or loses an address, for example that of an ensemble in network namespaces.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// Page opens a tab of the given size for a test. The test fails in the end if
// the console has an error or a warning of the page's scripts or policy.
func (b *Browser) Page(t testing.TB, width, height int64) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	p := &Page{t: t, ctx: ctx}
	console := chromedp.Console(ctx)
	var listening sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		listening.Wait()
		for _, text := range p.Complaints() {
			t.Errorf("the console says: %s", text)
		}
	})
	p.do(chromedp.EmulateViewport(width, height))
	p.listen()
	// Waited for in the cleanup; ends with the tab.
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				p.noteComplaint(fmt.Sprintf("%s (%s)", m, m.URL))
			}
		}
	})
	return p
}

// noteComplaint keeps a message of the console. A change of the network is no fault of
// the page.
func (p *Page) noteComplaint(text string) {
	if strings.Contains(text, networkChanged) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = append(p.complaints, text)
}

// listen counts the requests that a change of the network ends.
func (p *Page) listen() {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
		return err
	}))
	if err := chromedp.Listen(p.ctx, func(ev any) {
		if failed, ok := ev.(*network.EventLoadingFailed); ok && failed.ErrorText == networkChanged {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.dropped++
		}
	}); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// countDropped is how many requests a change of the network has ended so far: when a page is
// loaded, all of those that it was made of.
func (p *Page) countDropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Complaints are the errors and warnings on the console since the last call.
func (p *Page) Complaints() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.complaints
	p.complaints = nil
	return out
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// Open opens a URL and waits until the page is loaded. A page that a change of the
// network kept from being loaded is opened again, as its reader would do.
func (p *Page) Open(url string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	for {
		before := p.countDropped()
		err := chromedp.Do(ctx, chromedp.Navigate(url))
		if failed := (*chromedp.LoadError)(nil); errors.As(err, &failed) && failed.ErrorText == networkChanged {
			continue
		}
		if err != nil {
			p.t.Fatalf("in the browser: %v", err)
		}
		if p.countDropped() == before {
			return
		}
	}
}

// Dark makes the page believe that its reader prefers dark pages, or light
// ones.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// Scripts switches the page's scripts on or off, from the next page on.
func (p *Page) Scripts(on bool) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// Size sets the size of the page.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// Eval evaluates an expression of JavaScript, as text: strings as they are,
// other values in JSON.
func (p *Page) Eval(expression string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	raw, err := chromedp.Run(ctx, chromedp.Evaluate[json.RawMessage](expression))
	if err != nil {
		p.t.Fatalf("in the browser: %s: %v", expression, err)
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Text is the visible text of the first element that fits a CSS selector.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return p.Eval(fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quoted(selector)))
}

// Until waits until an expression of JavaScript is true, and returns the
// duration.
func (p *Page) Until(expression string) time.Duration {
	p.t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 80*time.Millisecond) {
		// While another page is being loaded, no page can answer.
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")")); is && err == nil {
			return time.Since(begin)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			p.t.Fatalf("in the browser: never true: %s; the page says:\n%.2000s", expression, p.Text("body"))
		}
	}
}

// Says waits until the page shows text.
func (p *Page) Says(text string) time.Duration {
	p.t.Helper()
	return p.Until("document.body.innerText.includes(" + quoted(text) + ")")
}

// Screenshot is a picture of the visible part, as PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
	return png
}

// quoted is text as JavaScript.
func quoted(text string) string {
	out, _ := json.Marshal(text) // text never fails
	return strings.ReplaceAll(string(out), "\u2028", `\u2028`)
}
