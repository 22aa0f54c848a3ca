package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
)

func TestChangesOfATaskChainAcrossClients(t *testing.T) {
	change := func(from, to string) observe.Event {
		return observe.TaskChanged{Path: "/q", Task: "t", From: from, To: to}
	}
	submitted, given, back := change("", "waiting"), change("waiting", "assigned"), change("assigned", "waiting")
	done, removed := change("assigned", "done"), change("done", "")
	requeued := change("done", "waiting")
	other := observe.TaskChanged{Path: "/q", Task: "u", From: "waiting", To: "assigned"}
	session := func(status string) observe.Event { return observe.SessionChanged{Status: status} }
	for name, c := range map[string]struct {
		events []observe.Event
		gaps   string // "": the changes chain
	}{
		"none":                                  {nil, ""},
		"a life":                                {[]observe.Event{submitted, given, back, given, done, removed}, ""},
		"in another order":                      {[]observe.Event{done, removed, given, submitted}, ""},
		"unfinished":                            {[]observe.Event{submitted, given}, ""},
		"submitted again":                       {[]observe.Event{submitted, given, done, removed, submitted}, ""},
		"requeued":                              {[]observe.Event{submitted, given, done, requeued, given}, ""},
		"a session was lost":                    {[]observe.Event{given, session("suspended"), session("lost"), given}, ""},
		"a session was suspended":               {[]observe.Event{given, session("suspended"), session("connected")}, "gaps: 1"},
		"removed before a client has found out": {[]observe.Event{submitted, session("suspended"), done, removed}, ""},
		"an outcome is unknown":                 {[]observe.Event{given, observe.OutcomeUnknown{Recipe: "tasks"}}, ""},
		"no submission":                         {[]observe.Event{given, done}, "gaps: 1"},
		"no assignment":                         {[]observe.Event{submitted, done, removed}, "gaps: 1"},
		"submitted twice":                       {[]observe.Event{submitted, submitted, given}, "gaps: 1"},
		"assigned twice":                        {[]observe.Event{submitted, given, given, done}, "gaps: 1"},
		"done twice":                            {[]observe.Event{submitted, given, done, done}, "gaps: 1"},
		"removed twice":                         {[]observe.Event{submitted, given, done, removed, removed}, "gaps: 1"},
		"given and given back, but never submitted": {[]observe.Event{given, back}, "gaps: 1"},
		"a circle that nothing leads to":            {[]observe.Event{submitted, change("assigned", "dead"), change("dead", "assigned")}, "gaps: 1"},
		"two lives without an end of the first":     {[]observe.Event{submitted, given, submitted, given}, "gaps: 1"},
		"of two tasks, one":                         {[]observe.Event{submitted, given, done, other}, "task u of /q do not chain, gaps: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			var chains world.TaskChains
			for _, e := range c.events {
				chains.Observe(e)
			}
			if err := chains.Check(); c.gaps != "" {
				require.ErrorContains(t, err, c.gaps)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
