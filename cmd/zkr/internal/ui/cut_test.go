package ui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
)

// TestPartsOfTheAPIHaveEverythingOnce, even while things are added and removed.
func TestPartsOfTheAPIHaveEverythingOnce(t *testing.T) {
	s := newStage(t)
	const locks = 25
	lock := func(i int) string {
		return fmt.Sprintf("/locks/%02d/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000001", i)
	}
	for i := range locks {
		s.put(fmt.Sprintf("/locks/%02d", i), "")
		s.ephemeral(fmt.Sprintf("actor-%d", i%7), lock(i), "")
	}
	m, base := s.dashboard("/")
	var doc struct {
		Things   []struct{ Path string }
		Sessions []struct{ Session string }
		Next     string
	}
	things, sessions := map[string]int{}, map[string]int{}
	for after, asked := "", 0; ; asked++ {
		doc.Next = ""
		_, text, _ := get(t, base+"/api/things?limit=4&after="+url.QueryEscape(after))
		require.NoError(t, json.Unmarshal([]byte(text), &doc))
		require.LessOrEqual(t, len(doc.Things), 4)
		for _, d := range doc.Things {
			things[d.Path]++
		}
		for _, d := range doc.Sessions {
			sessions[d.Session]++
		}
		if asked == 2 { // a returned thing is removed; the others do not move
			require.NoError(t, s.srv.Delete(lock(0)))
			require.NoError(t, s.srv.Delete("/locks/00"))
		}
		if after = doc.Next; after == "" {
			assert.Equal(t, 6, asked)
			break
		}
	}
	assert.Len(t, things, locks)
	assert.Len(t, sessions, 7)
	for path, n := range things {
		assert.Equal(t, 1, n, path)
	}
	for id, n := range sessions {
		assert.Equal(t, 1, n, id)
	}
	for _, bad := range []string{"limit=0", "limit=x", "limit=10001", "after=x", "after=e30", "limit=-1"} {
		code, text, _ := get(t, base+"/api/things?"+bad)
		assert.Equal(t, http.StatusBadRequest, code, bad)
		assert.Contains(t, text, "parameter", bad)
	}
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == locks-1 })
	_, text, _ := get(t, base+"/api/things")
	require.NoError(t, json.Unmarshal([]byte(text), &doc))
	assert.Len(t, doc.Things, locks-1, "without a limit there is one part")
}
