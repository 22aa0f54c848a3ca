package workerctl_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Checks of the invariants at each moment and over each history, and tests that
// violations are detected.

var (
	errTree   = errors.New("the tree does not fit together")
	errTwice  = errors.New("two have one id at once")
	errOrder  = errors.New("an incarnation or a token does not grow")
	errMoved  = errors.New("an identity has got another id")
	errBefore = errors.New("one has passed before all had come")
)

// checkTree checks that the znodes of a job that is not over fit together: the assigned
// ids are those from 0 on without a gap, each with a member and an identity, and every
// live worker is the present incarnation of a member that has not left.
func checkTree(nodes []zktest.Node) error {
	var st struct {
		State               string
		Workers, Next, Left int
	}
	dirs := map[string]map[string]string{}
	size, full := "", false
	for _, n := range nodes {
		rest, inside := strings.CutPrefix(n.Path, path+"/")
		_, rest, below := strings.Cut(rest, "/")
		if !inside || !below {
			continue
		}
		dir, name, child := strings.Cut(rest, "/")
		switch {
		case child && dirs[dir] == nil:
			dirs[dir] = map[string]string{name: string(n.Data)}
		case child:
			dirs[dir][name] = string(n.Data)
		case dir == "state":
			if err := json.Unmarshal(n.Data, &st); err != nil {
				return err
			}
		case dir == "size":
			size = string(n.Data)
		case dir == "full":
			full = true
		}
	}
	if st.State != "running" && st.State != "submitted" {
		return nil // the job is over: its remains are being removed
	}
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s; status %+v", errTree, fmt.Sprintf(format, a...), st)
	}
	if strconv.Itoa(st.Workers) != size || full != (st.Next == st.Workers) || len(dirs["members"]) != st.Next {
		return bad("size %s, full %v, %d members", size, full, len(dirs["members"]))
	}
	left, alive := 0, 0
	for id := range st.Next {
		var m struct {
			ID, Incarnation int
			Name, Claim     string
			Left            bool
		}
		if err := json.Unmarshal([]byte(dirs["members"][strconv.Itoa(id)]), &m); err != nil || m.ID != id {
			return bad("no member %d", id)
		}
		if _, free := dirs["free"][strconv.Itoa(id)]; free && !m.Left {
			return bad("%d is free, and has a member", id)
		}
		if m.Left {
			left++
			continue
		}
		if dirs["ids"][m.Name] != strconv.Itoa(id) {
			return bad("%s has id %q, member %d says", m.Name, dirs["ids"][m.Name], id)
		}
		name := fmt.Sprintf("%d-%d-%s", id, m.Incarnation, strings.ReplaceAll(m.Claim, "-", "")[:16])
		if _, ok := dirs["live"][name]; ok {
			alive++
		}
	}
	if left != st.Left || alive != len(dirs["live"]) {
		return bad("%d have left, %d live, %v", left, alive, dirs["live"])
	}
	return nil
}

// stay is the time of a worker from its join until the worker knew of its end.
type stay struct {
	name        string
	id, session int64
	incarnation int64
	token       int64
	from, to    time.Time
	asked       time.Time
	// fixed: the identity keeps its id. forgotten: the job shrinks at times, and
	// forgets incarnations then.
	fixed, forgotten bool
}

// checkStays asserts that no two workers have the same id at a time, and that
// incarnations and tokens grow.
func checkStays(stays []stay) error {
	stays = slices.Clone(stays)
	slices.SortFunc(stays, func(a, b stay) int { return cmp.Compare(a.token, b.token) })
	last, ids := map[int64]stay{}, map[string]int64{}
	for _, s := range stays {
		if before, ok := last[s.id]; ok {
			if s.incarnation <= before.incarnation && !s.forgotten || s.token <= before.token {
				return fmt.Errorf("%w: %+v, %+v", errOrder, before, s)
			}
			if s.from.Before(before.to) {
				return fmt.Errorf("%w: %+v, %+v", errTwice, before, s)
			}
		}
		last[s.id] = s
		if id, ok := ids[s.name]; ok && s.fixed && id != s.id {
			return fmt.Errorf("%w: %s had %d, and has %d", errMoved, s.name, id, s.id)
		}
		ids[s.name] = s.id
	}
	return nil
}

// visit is a worker's arrival at the end of a phase, or its passing.
type visit struct {
	phase, id int
	passed    bool
}

// checkPhases requires that no worker passes before all n workers have arrived;
// visits are in the order of their time.
func checkPhases(visits []visit, n int) error {
	come := map[visit]bool{}
	for _, v := range visits {
		if !v.passed {
			come[v] = true
			continue
		}
		for id := range n {
			if !come[visit{phase: v.phase, id: id}] {
				return fmt.Errorf("%w: %d has passed %d without %d", errBefore, v.id, v.phase, id)
			}
		}
	}
	return nil
}

func TestCheckersNoticeBadHistories(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	good := []stay{
		{name: "a", id: 0, incarnation: 1, token: 1, from: at(1), to: at(3), fixed: true},
		{name: "b", id: 1, incarnation: 1, token: 2, from: at(1), to: at(9), fixed: true},
		{name: "a", id: 0, incarnation: 2, token: 5, from: at(3), to: at(4), fixed: true},
	}
	require.NoError(t, checkStays(good))
	for name, c := range map[string]struct {
		change func(s []stay)
		want   error
	}{
		"two at once":    {func(s []stay) { s[0].to = at(4) }, errTwice},
		"incarnation":    {func(s []stay) { s[2].incarnation = 1 }, errOrder},
		"another id":     {func(s []stay) { s[2].id = 2 }, errMoved},
		"the same token": {func(s []stay) { s[2].token = 1 }, errOrder},
	} {
		t.Run(name, func(t *testing.T) {
			s := slices.Clone(good)
			c.change(s)
			require.ErrorIs(t, checkStays(s), c.want)
		})
	}
	come := []visit{{0, 0, false}, {0, 1, false}, {0, 0, true}, {0, 1, false}, {0, 1, true}}
	require.NoError(t, checkPhases(come, 2))
	require.ErrorIs(t, checkPhases(come, 3), errBefore)
	require.ErrorIs(t, checkPhases([]visit{{0, 0, false}, {1, 1, false}, {0, 0, true}}, 2), errBefore)
}

func TestCheckerNoticesATreeThatDoesNotFit(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		crew := w.crew(2)
		w.leave(crew[0])
		require.NoError(w, checkTree(w.Server.Dump()))
		run := strings.TrimSuffix(crew[1].Path()[:strings.LastIndexByte(crew[1].Path(), '/')], "/live")
		for _, c := range []struct{ do, undo func() error }{
			{func() error { return w.Server.Create(run+"/full", nil) }, func() error { return w.Server.Delete(run + "/full") }},
			{func() error { return w.Server.Set(run+"/size", []byte("4")) }, func() error { return w.Server.Set(run+"/size", []byte("3")) }},
			{func() error { return w.Server.Create(run+"/live/0-1-x", nil) }, func() error { return w.Server.Delete(run + "/live/0-1-x") }},
			{func() error { return w.Server.Create(run+"/members/2", nil) }, func() error { return w.Server.Delete(run + "/members/2") }},
			{func() error { return w.Server.Set(run+"/ids/worker-1", []byte("0")) }, func() error { return w.Server.Set(run+"/ids/worker-1", []byte("1")) }},
			{func() error { return w.Server.Create(run+"/free/1", nil) }, func() error { return w.Server.Delete(run + "/free/1") }},
		} {
			require.NoError(w, c.do())
			require.ErrorIs(w, checkTree(w.Server.Dump()), errTree)
			require.NoError(w, c.undo())
			require.NoError(w, checkTree(w.Server.Dump()))
		}
	})
}
