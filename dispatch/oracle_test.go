package dispatch_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Checks of the invariants at each moment and over each history, and tests that
// violations are detected.

var (
	errTree    = errors.New("the tree does not fit together")
	errTwice   = errors.New("a task has ended twice")
	errLost    = errors.New("a task was lost")
	errOverlap = errors.New("two handlers of a task at once")
	errOrder   = errors.New("a token or an attempt does not grow")
	errResult  = errors.New("the result is not what happened")
)

// checkTree asserts that every task has its payload, that exactly the assigned
// tasks have assignments, that every ended task has its result, and that no two
// tasks have a key at once.
func checkTree(nodes []zktest.Node) error {
	type task struct {
		ID, Run, State, Worker, Assignment string
		Attempt, MaxAttempts               int
		Unique, UniqueUntil                string
	}
	tasks, data, results, assignments := map[string]task{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		rest, inside := strings.CutPrefix(n.Path, path+"/")
		elems := strings.Split(rest, "/")
		if !inside || len(elems) != 3 {
			continue
		}
		switch elems[0] {
		case "tasks":
			var t task
			if err := json.Unmarshal(n.Data, &t); err != nil {
				return err
			}
			tasks[elems[1]+"/"+elems[2]] = t
		case "data":
			data[elems[1]+"/"+elems[2]] = true
		case "results":
			results[elems[1]+"/"+elems[2]] = true
		case "workers":
			assignments[elems[1]+"/"+elems[2]] = true
		}
	}
	bad := func(name string, what string) error {
		return fmt.Errorf("%w: %s: %s: %+v", errTree, name, what, tasks[name])
	}
	held := 0
	holders := map[string]string{} // of keys
	for name, t := range tasks {
		if key := t.Unique + " " + t.UniqueUntil; t.Unique != "" && (t.UniqueUntil != "" || t.State == "waiting" || t.State == "assigned") {
			if holders[key] != "" {
				return bad(name, "a key twice: "+holders[key])
			}
			holders[key] = name
		}
		ended := t.State != "waiting" && t.State != "assigned"
		switch {
		case !data[name+"~"+t.Run]:
			return bad(name, "no payload")
		case results[name] != ended:
			return bad(name, "result and state")
		case (t.State == "assigned") != (t.Assignment != ""):
			return bad(name, "assignment and state")
		case t.Assignment != "" && !assignments[t.Worker+"/"+t.Assignment]:
			return bad(name, "no assignment")
		case t.Attempt < 1 || t.Attempt > t.MaxAttempts:
			return bad(name, "attempts")
		}
		if t.Assignment != "" {
			held++
		}
	}
	if held != len(assignments) || len(data) != len(tasks) {
		return fmt.Errorf("%w: %d tasks, %d payloads, %d assigned, %d assignments", errTree, len(tasks), len(data), held, len(assignments))
	}
	for name := range results {
		if _, there := tasks[name]; !there {
			return bad(name, "a result without a task")
		}
	}
	return nil
}

// run is one call of a handler.
type run struct {
	task           string
	attempt        int
	token, session int64
	from, to       time.Time
	// output of a successful call; "" otherwise.
	output string
}

// fate is the known end of a task.
type fate struct {
	confirmed bool // certainly submitted
	result    *dispatch.Result
	ends      int // how many results were written
	// meddled: canceled by a client, so handlers learn late.
	meddled     bool
	maxAttempts int
}

// checkHistory asserts that each submitted task has ended once, with the result
// of one of its handlers, and that its handlers did not overlap.
func checkHistory(runs []run, fates map[string]*fate) error {
	of := map[string][]run{}
	for _, r := range runs {
		of[r.task] = append(of[r.task], r)
	}
	for id, f := range fates {
		list := of[id]
		slices.SortFunc(list, func(a, b run) int { return cmp.Compare(a.token, b.token) })
		for i := 1; i < len(list); i++ {
			a, b := list[i-1], list[i]
			switch {
			case a.token == b.token || a.attempt > b.attempt:
				return fmt.Errorf("%w: %+v, %+v", errOrder, a, b)
			case b.from.Before(a.to) && !f.meddled:
				return fmt.Errorf("%w: %+v, %+v", errOverlap, a, b)
			}
		}
		switch {
		case f.ends > 1:
			return fmt.Errorf("%w: %s, %d times", errTwice, id, f.ends)
		case f.confirmed && (f.ends == 0 || f.result == nil):
			return fmt.Errorf("%w: %s: %+v", errLost, id, *f)
		case f.result == nil:
			continue
		}
		if err := checkResult(*f.result, list, f); err != nil {
			return err
		}
	}
	return nil
}

func checkResult(r dispatch.Result, list []run, f *fate) error {
	said := slices.ContainsFunc(list, func(x run) bool {
		return x.output != "" && x.output == string(r.Output) && x.attempt == r.Attempt
	})
	ok := r.Attempt <= f.maxAttempts
	switch r.State {
	case "done":
		ok = ok && said
	case "dead":
		ok = ok && r.Attempt == f.maxAttempts && r.Error != ""
	case "canceled":
		ok = ok && f.meddled
	case "failed":
		ok = ok && strings.Contains(r.Error, "permanent")
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("%w: %+v, %+v", errResult, r, list)
	}
	return nil
}

func TestCheckersNoticeBadHistories(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	good := func() ([]run, map[string]*fate) {
		return []run{
				{task: "a", attempt: 1, token: 5, from: at(1), to: at(2)},
				{task: "a", attempt: 2, token: 9, from: at(2), to: at(4), output: "x"},
			}, map[string]*fate{
				"a": {confirmed: true, ends: 1, maxAttempts: 3, result: &dispatch.Result{ID: "a", State: "done", Output: []byte("x"), Attempt: 2}},
				"b": {maxAttempts: 3},
			}
	}
	runs, fates := good()
	require.NoError(t, checkHistory(runs, fates))
	for name, c := range map[string]struct {
		change func(runs []run, f map[string]*fate)
		want   error
	}{
		"two at once":              {func(r []run, _ map[string]*fate) { r[0].to = at(3) }, errOverlap},
		"one token":                {func(r []run, _ map[string]*fate) { r[0].token = 9 }, errOrder},
		"attempts":                 {func(r []run, _ map[string]*fate) { r[0].attempt = 3 }, errOrder},
		"it ended twice":           {func(_ []run, f map[string]*fate) { f["a"].ends = 2 }, errTwice},
		"it never ended":           {func(_ []run, f map[string]*fate) { f["a"].ends, f["a"].result = 0, nil }, errLost},
		"no client has its result": {func(_ []run, f map[string]*fate) { f["a"].result = nil }, errLost},
		"another's output":         {func(_ []run, f map[string]*fate) { f["a"].result.Output = []byte("y") }, errResult},
		"another attempt":          {func(_ []run, f map[string]*fate) { f["a"].result.Attempt = 1 }, errResult},
		"dead too early": {func(_ []run, f map[string]*fate) {
			f["a"].result.State, f["a"].result.Error = "dead", "no"
		}, errResult},
		"canceled without a request": {func(_ []run, f map[string]*fate) { f["a"].result.State = "canceled" }, errResult},
		"too many attempts":          {func(_ []run, f map[string]*fate) { f["a"].maxAttempts = 1 }, errResult},
		"no state":                   {func(_ []run, f map[string]*fate) { f["a"].result.State = "" }, errResult},
	} {
		t.Run(name, func(t *testing.T) {
			runs, fates := good()
			c.change(runs, fates)
			require.ErrorIs(t, checkHistory(runs, fates), c.want)
		})
	}
}

func TestCheckerNoticesATreeThatDoesNotFit(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(takes(time.Hour), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "held", Payload: []byte("x")})
		w.Settle()
		w.submit(q, dispatch.Task{ID: "waits", Payload: []byte("x")})
		w.submit(q, dispatch.Task{ID: "over", Payload: []byte("x")})
		require.NoError(w, q.Cancel(w.Ctx, "over"))
		w.Settle()
		nodes := w.Server.Dump()
		require.NoError(w, checkTree(nodes))
		broken := 0
		for i, n := range nodes {
			if strings.Count(n.Path, "/") != 4 {
				continue // a folder
			}
			without := slices.Concat(nodes[:i], nodes[i+1:])
			require.ErrorIs(w, checkTree(without), errTree, n.Path)
			broken++
		}
		require.Equal(w, 3+3+1+1, broken, "tasks, payloads, a result, an assignment")
	})
}
