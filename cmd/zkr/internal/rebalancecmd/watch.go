package rebalancecmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

// rebalanceWatch shows the changes of a group.
type rebalanceWatch struct {
	*rebalance
	last  Status
	ready bool // the state last is shown
}

// Event is a change of a group in JSON.
type Event struct {
	Time     time.Time   `json:"time"`
	Event    string      `json:"event"`
	Status   *Status     `json:"status,omitempty"` // ready: the whole status
	Member   *Member     `json:"member,omitempty"`
	Resource string      `json:"resource,omitempty"`
	Owner    string      `json:"owner,omitempty"`
	OwnerID  string      `json:"owner_id,omitempty"`
	Was      string      `json:"was,omitempty"` // the owner before
	WasID    string      `json:"was_id,omitempty"`
	Moving   *Move       `json:"moving,omitempty"`
	Paused   *groupPause `json:"paused,omitempty"`
	text     string
}

// run shows the differences between the states of the group.
func (w *rebalanceWatch) run(ctx context.Context, client *session.Client) error {
	for st, err := range rebalanser.Open(client, w.path, nil).States(ctx) {
		if err == nil {
			err = w.showState(st)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showState shows the first state in full, and the changes of later ones.
func (w *rebalanceWatch) showState(st rebalanser.Status) error {
	if st.Absent {
		w.ready = false
		return w.say(Event{Event: "absent", text: "no such group"})
	}
	now := statusOf(w.path, st)
	if !w.ready {
		w.ready, w.last = true, now
		if w.app.JSON() {
			return w.say(Event{Event: "ready", Status: &now})
		}
		if err := w.showStatus(&now); err != nil {
			return err
		}
		return w.say(Event{Event: "ready", text: now.summary()})
	}
	events := changes(&w.last, &now)
	w.last = now
	for _, e := range events {
		if err := w.say(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *rebalanceWatch) say(e Event) error {
	e.Time = time.Now()
	if w.app.JSON() {
		return w.app.PrintJSON(e)
	}
	return w.app.Print([]byte(strings.TrimRight(fmt.Sprintf("%s  %-11s  %s", cli.Timestamp(e.Time), e.Event, e.text), " ") + "\n"))
}

// changes are the differences between two statuses.
func changes(old, now *Status) (out []Event) {
	before, after := clients(old), clients(now)
	for _, m := range old.Members {
		if _, there := after[m.Client]; before[m.Client].State != "" && !there {
			out = append(out, Event{Event: "left", Member: &m, text: old.label(m.Client)})
		}
	}
	for _, m := range now.Members {
		if _, there := before[m.Client]; after[m.Client].State != "" && !there {
			out = append(out, Event{Event: "joined", Member: &m, text: now.label(m.Client)})
		}
	}
	if now.Coordinator != old.Coordinator {
		e := Event{Event: "coordinator", text: "none"}
		if m, there := after[now.Coordinator]; there {
			e.Member, e.text = &m, now.label(m.Client)
		}
		out = append(out, e)
	}
	switch {
	case now.Paused != nil && old.Paused == nil:
		out = append(out, Event{Event: "paused", Paused: now.Paused, text: "by " + cli.Readable([]byte(now.Paused.By))})
	case now.Paused == nil && old.Paused != nil:
		out = append(out, Event{Event: "resumed"})
	}
	return append(append(out, ownerChanges(old, now)...), newMoves(old, now)...)
}

// clients are the present members.
func clients(s *Status) map[string]Member {
	out := map[string]Member{}
	for _, m := range s.Members {
		if m.State != "gone" {
			out[m.Client] = m
		}
	}
	return out
}

// ownerChanges are the resources with another owner, and the resources that
// were added or removed.
func ownerChanges(old, now *Status) (out []Event) {
	for _, name := range slices.Sorted(maps.Keys(old.owners)) {
		if _, there := now.owners[name]; !there {
			out = append(out, Event{Event: "removed", Resource: name, text: cli.Readable([]byte(name))})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.owners)) {
		was, there := old.owners[name]
		is := now.owners[name]
		if there && was.client == is.client {
			continue
		}
		e := Event{
			Event: "unowned", Resource: name, Owner: is.client, OwnerID: now.labels[is.client],
			Was: was.client, WasID: old.labels[was.client], text: cli.Readable([]byte(name)),
		}
		if is.client != "" {
			e.Event, e.text = "owned", e.text+"  by "+now.label(is.client)
		}
		if was.client != "" {
			e.text += "  was " + old.label(was.client) + "'s"
		}
		out = append(out, e)
	}
	return out
}

// newMoves are the resources that have begun to move.
func newMoves(old, now *Status) (out []Event) {
	before := map[string]string{}
	for _, w := range old.Waiting {
		before[w.Resource] = w.For
	}
	for _, w := range now.Waiting {
		if before[w.Resource] == w.For {
			continue
		}
		text := cli.Readable([]byte(w.Resource)) + "  for " + now.label(w.For)
		if w.Owner != "" {
			text += ", from " + now.label(w.Owner)
		}
		out = append(out, Event{Event: "moving", Moving: &w, text: text})
	}
	return out
}
