package ui_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
)

// TestPageOfALockShowsItsLastHour: a grant and an end between two reads of the page.
func TestPageOfALockShowsItsLastHour(t *testing.T) {
	s := newStage(t)
	s.contend("/l", "ann", "bob")
	m, base := s.dashboard("/")
	holds := func(id string) {
		s.shows(m, func(v *ui.View) bool {
			t := v.Of("/l")
			return t != nil && len(t.Holders()) > 0 && t.Holders()[0].ID == id
		})
	}
	holds("ann")
	_, text, _ := get(t, base+"/tree?path=/l")
	has(t, text, "Last hour", "the page of the lock")
	hasNot(t, text, "gave back everything", "no end")
	require.NoError(t, s.srv.Delete(fmt.Sprintf("/l/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", 0, 0)))
	holds("bob")
	_, text, _ = get(t, base+"/tree?path=/l")
	has(t, text, "released: its session goes on", "the end of the first hold")
	_, text, _ = get(t, base+"/")
	has(t, text, "grants in a minute", "the overview")
	_, text, _ = get(t, base+"/tree?path=/")
	hasNot(t, text, "Last hour", "a znode without holders")
}
