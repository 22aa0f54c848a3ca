package ui

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// thingFits reports whether something of a thing has the words of the filter.
func (d *drawing) thingFits(t *recognize.Thing) bool {
	words := strings.Fields(strings.ToLower(d.Filter))
	has := func(texts ...string) {
		for _, text := range texts {
			text = strings.ToLower(text)
			words = slices.DeleteFunc(words, func(w string) bool { return strings.Contains(text, w) })
		}
	}
	has(t.Path, string(t.Kind), t.State, t.How, t.Guess)
	has(stateWords(t)...)
	for _, p := range t.Problems {
		has(p.Text, string(p.Level), "problem")
	}
	members := t.Members
	if t.Meeting != nil {
		members = slices.Concat(members, t.Meeting.Here, t.Meeting.Inside)
	}
	for i := 0; i < len(t.Queue) && len(words) > 0; i++ {
		has(t.Queue[i].ID, t.Queue[i].Session.String())
	}
	for i := 0; i < len(members) && len(words) > 0; i++ {
		has(members[i].ID, members[i].Address, members[i].Session.String())
	}
	if t.Job != nil {
		for i := 0; i < len(t.Job.Workers) && len(words) > 0; i++ {
			w := &t.Job.Workers[i]
			has(w.Name, w.Node, w.State, w.Session.String(), strings.Join(w.Addresses, " "))
		}
	}
	if t.Tasks != nil && len(words) > 0 {
		has(taskWords(t.Tasks)...)
	}
	if t.Shares != nil {
		for _, m := range t.Shares.Members {
			has(m.ID, m.Session.String())
		}
		for i := 0; i < len(t.Shares.Resources) && len(words) > 0; i++ {
			has(t.Shares.Resources[i])
		}
	}
	return len(words) == 0
}

// stateWords are words for the state of a thing, in the forms that people search for.
func stateWords(t *recognize.Thing) (words []string) {
	for _, f := range facetsOf(t) {
		words = append(words, facetWords[f])
	}
	return words
}

// facetWords are the words of the facets for the filter.
//
// read only
var facetWords = map[string]string{
	facetHeld:     "held holds holding taken locked busy",
	facetLed:      "led leads leader leading",
	facetWaited:   "wait waits waiting waited queue queued queueing contended",
	facetFree:     "free unlocked available idle",
	facetLeadless: "no leader leaderless vacant",
	facetProblem:  "problem problems",
}

// taskWords are the texts of a task queue: its workers, and the listed tasks.
func taskWords(s *recognize.TaskState) []string {
	words := []string{s.Master}
	for i := range s.Workers {
		w := &s.Workers[i]
		state := "active"
		switch {
		case w.Gone:
			state = "gone"
		case w.Draining:
			state = "draining"
		}
		words = append(append(words, w.Name, w.ID, w.Session.String(), state), w.Labels...)
	}
	for i := range s.Running {
		words = append(words, s.Running[i].ID, s.Running[i].Note)
	}
	for i := range s.Trouble {
		words = append(words, s.Trouble[i].ID, s.Trouble[i].State, s.Trouble[i].Error)
	}
	for i := range s.Schedules {
		words = append(words, s.Schedules[i].Name)
	}
	return words
}
