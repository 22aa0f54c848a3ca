package uicmd

import (
	"crypto/rand"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// actions are what users may change; nil without --actions.
func (a *app) actions(d dashboard) *ui.Actions {
	if !d.actions {
		return nil
	}
	return &ui.Actions{
		Forms: web.Forms{Key: rand.Text()},
		Record: func(r ui.Audit) {
			result := "done"
			if r.Err != nil {
				result = "failed: " + r.Err.Error()
			}
			a.Note("audit: user=%q action=%q path=%q item=%q id=%q reason=%q result=%q", r.User, r.Action, r.Path, r.Item, r.ID, r.Reason, result)
		},
	}
}
