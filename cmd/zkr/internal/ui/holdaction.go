package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/session"
)

// heldItem is a hold that an action takes away.
type heldItem struct {
	takeaway.Holder
	SessionID string // "" for none
}

// holdAction takes a hold away.
type holdAction struct{ takeaway.Hold }

func taking(open func(*session.Client, string) takeaway.Hold) func(*session.Client, string) change {
	return func(client *session.Client, path string) change { return holdAction{open(client, path)} }
}

// breaking finds the action that takes something of a thing away. The number of permits of
// Curator's semaphores is not known, nor who holds them.
func breaking(t *recognize.Thing) *action {
	for _, a := range actions() {
		if a.kind == t.Kind && len(t.Queue) > 0 && t.Queue[0].Holds && (t.Permits == nil || t.Permits.Total > 0) {
			return &a
		}
	}
	return nil
}

// find reads the holders from ZooKeeper: the shown view may be older.
func (h holdAction) find(ctx context.Context, c *confirmation, token string) error {
	all, err := h.Find(ctx)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return fmt.Errorf("no client holds the %s", c.Hold)
	case token == "" && len(all) > 1:
		for _, one := range all {
			c.Choice = append(c.Choice, choice{
				ID: recognize.Text(one.ID, 200), Session: recognize.SessionID(one.Session).String(), Share: one.Share, Since: one.Since,
				URL: actionURL(c.Name, c.Path, itemOf(one)),
			})
		}
		return nil
	}
	for _, one := range all {
		if token == "" || token == itemOf(one) {
			c.Item, c.ID = itemOf(one), recognize.Text(one.ID, 200)
			c.Held = &heldItem{one, recognize.SessionID(one.Session).String()}
			return nil
		}
	}
	return errors.New("another client holds now: nothing was changed")
}

func itemOf(h takeaway.Holder) string { return strconv.FormatInt(h.Token, 10) }

func (h holdAction) apply(ctx context.Context, c *confirmation, user, reason string) (done string, err error) {
	gone, err := h.Take(ctx, c.Held.Token, user, reason)
	if gone != nil {
		err = fmt.Errorf("the holder has gone meanwhile: nothing was changed: %w", gone)
	}
	return fmt.Sprintf("Took the %s away from %s.", c.Hold, c.ID), err
}
