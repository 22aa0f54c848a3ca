package browser

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// Keys that do not stand for characters.
const (
	Enter  = "\r"
	Escape = "\u001b"
	Tab    = "\t"
	Left   = "\u2190"
)

// Press types keys: characters, Enter, Escape, Tab and Left. A page with a handler of
// its own may keep a key from being typed.
func (p *Page) Press(keys string) {
	p.t.Helper()
	for _, r := range keys {
		down := input.DispatchKeyEventParams{Type: "keyDown", Key: string(r), Text: string(r)}
		switch string(r) {
		case Enter:
			down.Key, down.Code, down.WindowsVirtualKeyCode = "Enter", "Enter", int64('\r')
		case Escape:
			down.Key, down.Code, down.Text, down.WindowsVirtualKeyCode = "Escape", "Escape", "", int64(r)
		case Tab:
			down.Key, down.Code, down.Text, down.WindowsVirtualKeyCode = "Tab", "Tab", "", int64(r)
		case Left:
			down.Key, down.Code, down.Text, down.WindowsVirtualKeyCode = "ArrowLeft", "ArrowLeft", "", 37
		}
		up := down
		up.Type, up.Text = "keyUp", ""
		p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, event); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// clicking clicks an element in one step of the page: an element of a live page may move
// between two messages of a mouse, which would hit another one. It returns what keeps a
// mouse from the element, or "".
const clicking = `(selector => {
  const element = document.querySelector(selector);
  if (!element) return "no such element";
  element.scrollIntoView({ block: "nearest", behavior: "instant" });
  const { x, y, width, height } = element.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  if (!element.contains(top)) return "covered by " + (top?.outerHTML ?? "nothing").slice(0, 100);
  const fire = (type) => top.dispatchEvent(new PointerEvent(type, { bubbles: true, cancelable: true }));
  const focused = top.closest("a, button, input, select, textarea, summary, [tabindex]");
  fire("pointerdown");
  if (focused) focused.focus(); else document.activeElement?.blur();
  fire("pointerup");
  top.click();
  return "";
})`

// Click clicks the first element that fits a CSS selector, as soon as a mouse could.
func (p *Page) Click(selector string) {
	p.t.Helper()
	var problem string
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if problem = p.Eval(clicking + "(" + quoted(selector) + ")"); problem == "" {
			return
		}
	}
	p.t.Fatalf("in the browser: click %s: %s", selector, problem)
}

// Hold presses a mouse's button on the first element that fits a CSS selector, and returns
// a function that releases the button there.
func (p *Page) Hold(selector string) (release func()) {
	p.t.Helper()
	var at struct{ X, Y float64 }
	where := p.Eval(`(({ x, y, width, height }) => ({ X: x + width / 2, Y: y + height / 2 }))(document.querySelector(` + quoted(selector) + `).getBoundingClientRect())`)
	if err := json.Unmarshal([]byte(where), &at); err != nil {
		p.t.Fatalf("in the browser: where %s is: %s: %v", selector, where, err)
	}
	mouse := func(event input.DispatchMouseEventType) {
		p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: event, X: at.X, Y: at.Y, Button: "left", Buttons: 1, ClickCount: 1,
			})
			return err
		}))
	}
	mouse("mousePressed")
	return func() { mouse("mouseReleased") }
}
