package discoverycmd

import (
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
)

// listDiff shows the changes of a list, which is given in full each time.
type listDiff struct {
	app   *app
	what  string // "member"
	known map[string]listed
	order []string // of known, in the order of the last list
	ready bool     // the first list is shown
}

// listed is an element of the list.
type listed struct {
	key   string // its znode
	state string // the text to compare: another text is a change
	text  string // for people, without columns
	json  ListEvent
}

// ListEvent is a change of a list in JSON.
type ListEvent struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"` // present, ready, added, updated, removed
	Count    *int      `json:"count,omitempty"`
	Member   *Member   `json:"member,omitempty"`
	Instance *Instance `json:"instance,omitempty"`
}

func newListDiff(a *app, what string) *listDiff {
	return &listDiff{app: a, what: what, known: map[string]listed{}}
}

// update shows the changes: the removed elements in the old order, then the
// added and changed elements in the new order.
func (r *listDiff) update(list []listed) error {
	there := map[string]bool{}
	for _, l := range list {
		there[l.key] = true
	}
	for _, key := range r.order {
		if !there[key] {
			if err := r.show("removed", r.known[key]); err != nil {
				return err
			}
			delete(r.known, key)
		}
	}
	r.order = r.order[:0]
	for _, l := range list {
		r.order = append(r.order, l.key)
		old, ok := r.known[l.key]
		r.known[l.key] = l
		var err error
		switch {
		case !r.ready:
			err = r.show("present", l)
		case !ok:
			err = r.show("added", l)
		case old.state != l.state:
			err = r.show("updated", l)
		}
		if err != nil {
			return err
		}
	}
	if r.ready {
		return nil
	}
	r.ready = true
	n := len(list)
	return r.show("ready", listed{text: cli.Count(n, r.what), json: ListEvent{Count: &n}})
}

// show prints a change.
func (r *listDiff) show(event string, l listed) error {
	if r.app.JSON() {
		e := l.json
		e.Time, e.Event = time.Now(), event
		return r.app.PrintJSON(e)
	}
	return r.app.Printf("%s  %-7s  %s\n", cli.Timestamp(time.Now()), event, strings.TrimRight(l.text, " "))
}
