package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// actionPath is the page of an action: GET shows what would be lost, POST does it.
	actionPath = "/act"
	// actionLimit bounds the requests of an action to ZooKeeper.
	actionLimit = 15 * time.Second
	// maxReason is the longest reason, in bytes.
	maxReason = 500
)

// Audit is a record of an attempt to change something.
type Audit struct {
	User, Action, Path string
	// Item is the token of the hold that the user saw, the id of the task, or the time of the
	// pause that ends, and ID is the holder, the task, or the pause.
	Item, ID, Reason string
	// Err is nil if the action was carried out.
	Err error
}

// Actions are what users may change. Each user must be authenticated ([web.User]).
type Actions struct {
	// Forms protects the forms. Required.
	Forms web.Forms
	// Record is called after each action, and each attempt that was refused, by
	// several goroutines at a time. Required.
	Record func(Audit)
}

// action is what a user may do to a kind of thing.
type action struct {
	Name, Verb string
	// Hold names what a holder loses; "" for an action on a queue of tasks.
	Hold string
	kind recognize.Kind
	open func(*session.Client, string) change
}

// change is an action at one path.
type change interface {
	// find reads what the item of the action is now, for the confirmation; the item "" is the
	// only one, or gives a choice of several.
	find(ctx context.Context, c *confirmation, item string) error
	// apply changes what find has read, and returns a sentence about that.
	apply(ctx context.Context, c *confirmation, user, reason string) (done string, err error)
}

// actions are all actions, by the parameter "do" and the kind.
func actions() []action {
	return []action{
		{"break", "Break the lock", "lock", recognize.Mutex, taking(holds.Lock)},
		{"break", "Break the lock", "lock", recognize.RWLock, taking(holds.RWLock)},
		{"break", "Take permits away", "permits", recognize.Semaphore, taking(holds.LockOrPermits)},
		{"depose", "Depose the leader", "leadership", recognize.Election, taking(holds.Leadership)},
		{"requeue", "Retry the task", "", recognize.Tasks, requeuing},
		{"cancel", "Cancel the task", "", recognize.Tasks, canceling},
		{"pause", "Pause the queue", "", recognize.Tasks, pausing},
		{"resume", "Resume the queue", "", recognize.Tasks, resuming},
	}
}

// actionURL is the page on which the user confirms an action on an item of the thing at path;
// the item "" is the only one.
func actionURL(name, path, item string) string {
	q := url.Values{"do": {name}, "path": {path}}
	if item != "" {
		q.Set("item", item)
	}
	return actionPath + "?" + q.Encode()
}

// confirmation is the content of an action's page.
type confirmation struct {
	*action
	Path, Guess string
	// Item is what the action is about: the token of a hold, the id of a task, the time of a
	// pause that ends. ID is a text for that.
	Item, ID string
	Held     *heldItem
	Task     *dispatch.Info
	// Pause is the present pause of the queue, as a text.
	Pause string
	// Choice is not empty if there are several items, and none has been chosen.
	Choice []choice
	CSRF   string
	// Done and Failed tell the result; both are "" before the action.
	Done, Failed string
}

// choice is one of several items.
type choice struct {
	ID, Session, Share string
	Since              time.Time
	URL                string
}

// serveAction serves the page of an action.
func (s *server) serveAction(w http.ResponseWriter, r *http.Request) {
	user := web.User(r.Context())
	life := r.Context()
	if r.Method == http.MethodPost {
		life = context.WithoutCancel(life) // a browser that leaves must not leave the outcome unknown
	}
	ctx, cancel := context.WithTimeout(life, actionLimit)
	defer cancel()
	switch {
	case user == "":
		http.Error(w, "Only authenticated users may change something.", http.StatusForbidden)
	case r.Method == http.MethodPost:
		s.act(ctx, w, r, user)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		q := r.URL.Query()
		c, change, err := s.findAction(q)
		if err == nil {
			err = change.find(ctx, c, q.Get("item"))
		}
		if err != nil {
			c.Failed = recognize.Text([]byte(err.Error()), 500)
			s.showAction(w, r, http.StatusConflict, c)
			return
		}
		if len(c.Choice) > 0 {
			s.showAction(w, r, http.StatusOK, c)
			return
		}
		c.CSRF = s.actions.Forms.Token(user, purposeOf(url.Values{"do": {c.Name}, "path": {c.Path}, "item": {c.Item}}))
		s.showAction(w, r, http.StatusOK, c)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "This method is not allowed.", http.StatusMethodNotAllowed)
	}
}

// purposeOf is what a form is for: one action on one item.
func purposeOf(form url.Values) string {
	return fmt.Sprintf("%q %q %q", form.Get("do"), form.Get("path"), form.Get("item"))
}

// act carries out the action of a form.
func (s *server) act(ctx context.Context, w http.ResponseWriter, r *http.Request, user string) {
	form, status, err := s.actions.Forms.Read(w, r, purposeOf)
	if err != nil {
		s.actions.Record(Audit{User: user, Action: "form", Path: actionPath, Err: err})
		http.Error(w, strings.ToUpper(err.Error()[:1])+err.Error()[1:]+".", status)
		return
	}
	reason := strings.TrimSpace(form.Get("reason"))
	audit := Audit{User: user, Action: form.Get("do"), Path: form.Get("path"), Item: form.Get("item"), Reason: reason}
	c, change, err := s.findAction(form)
	switch {
	case err != nil:
	case reason == "" || len(reason) > maxReason || !utf8.ValidString(reason):
		err = fmt.Errorf("a reason is needed, as text of at most %d bytes", maxReason)
	default:
		err = change.find(ctx, c, audit.Item)
	}
	if err == nil {
		audit.ID = c.ID
		if done, failed := change.apply(ctx, c, user, reason); failed == nil {
			c.Done = done
		} else {
			err = failed
		}
	}
	audit.Err = err
	s.actions.Record(audit)
	if err != nil {
		c.Failed = recognize.Text([]byte(err.Error()), 500)
		s.showAction(w, r, http.StatusConflict, c)
		return
	}
	s.showAction(w, r, http.StatusOK, c)
}

// findAction finds the action and the shown thing of a request.
func (s *server) findAction(form url.Values) (*confirmation, change, error) {
	c := &confirmation{action: &action{Name: form.Get("do"), Verb: "Not possible"}, Path: form.Get("path")}
	for _, a := range actions() {
		if a.Name != c.Name {
			continue
		}
		c.action = &a
		for _, t := range s.model.View().Things {
			if t.Path == c.Path && t.Kind == a.kind {
				c.Guess = t.Guess
				return c, a.open(s.model.client, t.Path), nil
			}
		}
	}
	switch {
	case c.open == nil:
		return c, nil, errors.New("there is no such action")
	case c.Hold == "":
		return c, nil, errors.New("there is no such task queue")
	}
	return c, nil, fmt.Errorf("no client holds the %s", c.Hold)
}

// showAction writes the page of an action.
func (s *server) showAction(w http.ResponseWriter, r *http.Request, code int, c *confirmation) {
	// Without any referrer, browsers do not name the origin of a form either.
	w.Header().Set("Referrer-Policy", "same-origin")
	p := &page{at: actionPath, name: c.Verb, aside: true, draw: func(d *drawing) []web.Block {
		return []web.Block{d.renderBlock("action", "", c)}
	}}
	regions, err := s.drawRegions(r.Context(), s.model.View(), p, &question{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	web.Frame{Title: c.Verb + " · zkr ui", Brand: "zkr ui", Where: s.where, Regions: regions, Keys: web.Keys()}.Serve(w, r, code)
}
