package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
)

const (
	// settles is how long a watch waits after a change, so that what belongs
	// together is read once.
	settles = 50 * time.Millisecond
	// looks is how often it reads where nobody tells it of changes: servers
	// older than 3.6.
	looks = time.Second
)

// rebalanceWatch shows what becomes of a group.
type rebalanceWatch struct {
	*rebalance
	last  groupStatus
	ready bool // what was there is shown
	none  bool // it was shown that there is no group
}

// groupEvent is a change of a group as "-o json" shows it.
type groupEvent struct {
	Time     time.Time    `json:"time"`
	Event    string       `json:"event"`
	Status   *groupStatus `json:"status,omitempty"` // ready: all of it
	Member   *groupClient `json:"member,omitempty"`
	Resource string       `json:"resource,omitempty"`
	Owner    string       `json:"owner,omitempty"`
	OwnerID  string       `json:"owner_id,omitempty"`
	Was      string       `json:"was,omitempty"` // the owner before
	WasID    string       `json:"was_id,omitempty"`
	Moving   *groupMove   `json:"moving,omitempty"`
	Paused   *groupPause  `json:"paused,omitempty"`
	text     string
}

// run shows the group again in each new session, as far as it has changed.
func (w *rebalanceWatch) run(ctx context.Context, client *session.Client) error {
	admin := rebalanser.Open(client, w.path, nil)
	for {
		s, err := client.Session(ctx)
		if err != nil {
			return err
		}
		if err := w.within(ctx, s, admin); s.Err() == nil || ctx.Err() != nil {
			return err
		}
	}
}

// within shows changes until the session is lost.
func (w *rebalanceWatch) within(ctx context.Context, s *session.Session, admin *rebalanser.Admin) error {
	dirty := make(chan struct{}, 1)
	dirty <- struct{}{}
	var tick <-chan time.Time
	sub, err := s.Subscribe(ctx, w.path, true, func(session.Event) {
		select {
		case dirty <- struct{}{}:
		default: // it is going to read anyway
		}
	})
	switch {
	case err == nil:
		defer sub.Stop()
	case errors.Is(err, session.ErrUnsupported):
		ticker := time.NewTicker(looks)
		defer ticker.Stop()
		tick = ticker.C
	default:
		return err
	}
	for {
		select {
		case <-dirty:
		case <-tick:
		case <-s.Context().Done():
			return context.Cause(s.Context())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if w.ready || w.none {
			if err := cli.SleepContext(ctx, settles); err != nil {
				return err
			}
		}
		if err := w.look(ctx, admin); err != nil {
			return err
		}
	}
}

// look reads the group and shows what has changed.
func (w *rebalanceWatch) look(ctx context.Context, admin *rebalanser.Admin) error {
	now, err := w.read(ctx, admin)
	if gone(err) {
		if w.none {
			return nil
		}
		w.none, w.ready = true, false
		return w.say(groupEvent{Event: "absent", text: "there is no such group"})
	}
	if err != nil {
		return err
	}
	if !w.ready {
		w.ready, w.none, w.last = true, false, now
		if w.app.JSON() {
			return w.say(groupEvent{Event: "ready", Status: &now})
		}
		if err := w.showStatus(&now); err != nil {
			return err
		}
		return w.say(groupEvent{Event: "ready", text: now.summary()})
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

func (w *rebalanceWatch) say(e groupEvent) error {
	e.Time = time.Now()
	if w.app.JSON() {
		return w.app.PrintJSON(e)
	}
	return w.app.Print([]byte(strings.TrimRight(fmt.Sprintf("%s  %-11s  %s", cli.Timestamp(e.Time), e.Event, e.text), " ") + "\n"))
}

// changes is what differs between a status and the next one.
func changes(old, now *groupStatus) (out []groupEvent) {
	before, after := clients(old), clients(now)
	for _, m := range old.Members {
		if _, there := after[m.Client]; before[m.Client].State != "" && !there {
			out = append(out, groupEvent{Event: "left", Member: &m, text: old.label(m.Client)})
		}
	}
	for _, m := range now.Members {
		if _, there := before[m.Client]; after[m.Client].State != "" && !there {
			out = append(out, groupEvent{Event: "joined", Member: &m, text: now.label(m.Client)})
		}
	}
	if now.Coordinator != old.Coordinator {
		e := groupEvent{Event: "coordinator", text: "nobody"}
		if m, there := after[now.Coordinator]; there {
			e.Member, e.text = &m, now.label(m.Client)
		}
		out = append(out, e)
	}
	switch {
	case now.Paused != nil && old.Paused == nil:
		out = append(out, groupEvent{Event: "paused", Paused: now.Paused, text: "by " + cli.Readable([]byte(now.Paused.By))})
	case now.Paused == nil && old.Paused != nil:
		out = append(out, groupEvent{Event: "resumed"})
	}
	return append(append(out, ownerChanges(old, now)...), newMoves(old, now)...)
}

// clients are the members that are there.
func clients(s *groupStatus) map[string]groupClient {
	out := map[string]groupClient{}
	for _, m := range s.Members {
		if m.State != "gone" {
			out[m.Client] = m
		}
	}
	return out
}

// ownerChanges is which resources have another owner, and which have come or gone.
func ownerChanges(old, now *groupStatus) (out []groupEvent) {
	for _, name := range slices.Sorted(maps.Keys(old.owners)) {
		if _, there := now.owners[name]; !there {
			out = append(out, groupEvent{Event: "removed", Resource: name, text: cli.Readable([]byte(name))})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now.owners)) {
		was, there := old.owners[name]
		is := now.owners[name]
		if there && was.client == is.client {
			continue
		}
		e := groupEvent{
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

// newMoves is what waits for somebody and did not before.
func newMoves(old, now *groupStatus) (out []groupEvent) {
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
		out = append(out, groupEvent{Event: "moving", Moving: &w, text: text})
	}
	return out
}
