package ui_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// TestGuessesAreShownAsGuesses on cards, in lists, on the page of a znode and
// in the API; plain znodes are not shown as things.
func TestGuessesAreShownAsGuesses(t *testing.T) {
	s := newStage(t)
	s.put("/app/port", "8080")
	s.put("/app/ready", "")
	s.put("/app/token", "\x00\x01\x02\x03\x04\x05\x06\x07")
	s.put("/app/visit-counter", "7")
	s.put("/app/gate", "")
	s.put("/app/x", "")
	s.ephemeral("java", "/app/x/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041", "10.0.3.17")
	s.ephemeral("go", "/app/x/_c_b6e1bacb-95aa-485f-b2a5-02692629ab81-lock-0000000042", "10.0.3.18")
	s.put("/app/leader", "")
	s.ephemeral("go", "/app/leader/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041", "ann")
	s.put("/app/locks", "")
	s.ephemeral("go", "/app/locks/_c_b6e1bacb-95aa-485f-b2a5-02692629ab80-lock-0000000041", "ann")
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Kinds(recognize.Mutex, recognize.Election)) == 3 })

	want := map[string]string{
		"counter /app/visit-counter": "looks like a counter because of its name, and because its data is a number",
		"gate /app/gate":             "looks like a gate because of its name, which is all that a gate has",
		"mutex /app/x":               "mutex or LeaderSelector election (same layout)",
		"election /app/leader":       "LeaderSelector election or mutex (same layout)",
		"mutex /app/locks":           "",
	}
	got := map[string]string{}
	_, text, _ := get(t, base+"/api/things")
	var answer struct {
		Things []struct{ Kind, Path, Guess string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	for _, thing := range answer.Things {
		got[thing.Kind+" "+thing.Path] = thing.Guess
	}
	require.Equal(t, want, got)
	for path, says := range map[string]string{
		"/counters":                             want["counter /app/visit-counter"],
		"/barriers":                             "gate?</span>",
		"/locks":                                want["mutex /app/x"],
		"/":                                     want["mutex /app/x"],
		"/?q=guess":                             "Search",
		"/tree?path=" + url.QueryEscape("/app"): `title="` + want["gate /app/gate"] + `"`,
		"/tree?path=" + url.QueryEscape("/app/gate"): want["gate /app/gate"],
		"/elections": want["election /app/leader"],
	} {
		_, text, _ := get(t, base+path)
		has(t, text, says, path)
	}
	_, text, _ = get(t, base+"/")
	has(t, text, want["election /app/leader"], "leaders")
	_, text, _ = get(t, base+"/locks?q=locks")
	hasNot(t, text, "mutex?", "a lock that is called so")
	_, text, _ = get(t, base+"/?q=layout")
	has(t, text, "/app/<", "found by the guess")
}
