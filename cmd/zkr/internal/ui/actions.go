package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/holds"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
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
	// Token is that of the holder that the user saw.
	Token          int64
	Holder, Reason string
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
	Name, Verb, What string
	kind             recognize.Kind
	open             func(*session.Client, string) takeaway.Hold
}

// actions are all actions, by the parameter "do".
func actions() []action {
	return []action{
		{"break", "Break the lock", "lock", recognize.Mutex, holds.Lock},
		{"depose", "Depose the leader", "leadership", recognize.Election, holds.Leadership},
	}
}

// actionFor finds the action for a thing that has a holder.
func actionFor(t *recognize.Thing) *action {
	for _, a := range actions() {
		if a.kind == t.Kind && len(t.Queue) > 0 && t.Queue[0].Holds {
			return &a
		}
	}
	return nil
}

// actionURL is the page on which the user confirms an action.
func actionURL(a *action, path string) string {
	return actionPath + "?" + url.Values{"do": {a.Name}, "path": {path}}.Encode()
}

// confirmation is the content of an action's page.
type confirmation struct {
	*action
	Path, Guess string
	Holder      *takeaway.Holder
	ID, Session string
	CSRF        string
	// Done and Failed tell the result; both are "" before the action.
	Done, Failed string
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
		c, hold, err := s.findAction(q)
		if err == nil {
			err = c.find(ctx, hold)
		}
		if err != nil {
			c.Failed = recognize.Text([]byte(err.Error()), 500)
			s.showAction(w, r, http.StatusConflict, c)
			return
		}
		c.CSRF = s.actions.Forms.Token(user, purposeOf(url.Values{"do": {c.Name}, "path": {c.Path}, "token": {strconv.FormatInt(c.Holder.Token, 10)}}))
		s.showAction(w, r, http.StatusOK, c)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "This method is not allowed.", http.StatusMethodNotAllowed)
	}
}

// purposeOf is what a form is for: one action on one holder.
func purposeOf(form url.Values) string {
	return fmt.Sprintf("%q %q %q", form.Get("do"), form.Get("path"), form.Get("token"))
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
	audit := Audit{User: user, Action: form.Get("do"), Path: form.Get("path"), Reason: reason}
	audit.Token, _ = strconv.ParseInt(form.Get("token"), 10, 64) // the server wrote it, as the form's csrf shows
	c, hold, err := s.findAction(form)
	switch {
	case err != nil:
	case reason == "" || len(reason) > maxReason || !utf8.ValidString(reason):
		err = fmt.Errorf("a reason is needed, as text of at most %d bytes, for those who are affected", maxReason)
	default:
		if err = c.find(ctx, hold); err == nil && c.Holder.Token != audit.Token {
			err = errors.New("another client holds now: nothing was changed")
		}
	}
	if err == nil {
		audit.Holder = c.ID
		var gone error
		if gone, err = hold.Take(ctx, user, reason); gone != nil {
			err = fmt.Errorf("the holder has gone meanwhile: nothing was changed: %w", gone)
		}
	}
	audit.Err = err
	s.actions.Record(audit)
	if err != nil {
		c.Failed = recognize.Text([]byte(err.Error()), 500)
		s.showAction(w, r, http.StatusConflict, c)
		return
	}
	c.Done = fmt.Sprintf("Took the %s away from %s.", c.What, c.ID)
	s.showAction(w, r, http.StatusOK, c)
}

// findAction finds the action and the shown thing of a request.
func (s *server) findAction(form url.Values) (*confirmation, takeaway.Hold, error) {
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
		return c, nil, fmt.Errorf("the %s is not held", a.What)
	}
	return c, nil, errors.New("there is no such action")
}

// find reads the holder from ZooKeeper: the shown view may be older.
func (c *confirmation) find(ctx context.Context, hold takeaway.Hold) error {
	h, err := hold.Find(ctx)
	switch {
	case err != nil:
		return err
	case h == nil:
		return fmt.Errorf("the %s is not held", c.What)
	}
	c.Holder, c.ID, c.Session = h, recognize.Text(h.ID, 200), recognize.SessionID(h.Session).String()
	return nil
}

// showAction writes the page of an action.
func (s *server) showAction(w http.ResponseWriter, r *http.Request, code int, c *confirmation) {
	// Without any referrer, browsers do not name the origin of a form either.
	w.Header().Set("Referrer-Policy", "same-origin")
	p := &page{at: actionPath, name: c.Verb, aside: true, draw: func(d *drawing) []web.Block {
		return []web.Block{d.renderBlock("action", "", c)}
	}}
	regions, err := s.drawRegions(r.Context(), p, &question{})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	web.Frame{Title: c.Verb + " · zkr ui", Brand: "zkr ui", Where: s.where, Regions: regions, Keys: web.Keys()}.Serve(w, r, code)
}
