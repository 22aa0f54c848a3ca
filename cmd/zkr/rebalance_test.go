//go:build unix

package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rebalancecmd"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// status reads "zkr rebalance status -o json".
func (b *bed) status(path string) (st rebalancecmd.Status) {
	b.Helper()
	text := b.run("rebalance", "status", path, "-o", "json").ends(0).out.String()
	require.NoError(b, json.Unmarshal([]byte(text), &st), text)
	return st
}

// settled waits until all resources are owned as assigned, and the group has so
// many members.
func (b *bed) settled(path string, members int) {
	b.Helper()
	eventually(b.T, func() bool {
		st := b.status(path)
		return len(st.Members) == members && len(st.Waiting)+len(st.Unowned) == 0
	}, "%s is settled", path)
}

func TestResourcesAreAddedAndRemoved(t *testing.T) {
	b := newBed(t)
	for _, sub := range []string{"ls", "status", "pause", "resume"} {
		z := b.run("rebalance", sub, "/g").ends(exit.CodeFailed)
		assert.Contains(t, z.err.String(), "no such group\nzkr: \"zkr rebalance add /g RESOURCE...\" creates it", sub)
	}
	b.run("rebalance", "remove", "/g", "a").ends(exit.CodeFailed)
	assert.Equal(t, "2 resources added, 0 already present\n", b.run("rebalance", "add", "/g", "a", "b", "a").ends(0).out.String())

	names := filepath.Join(t.TempDir(), "names")
	require.NoError(t, os.WriteFile(names, []byte("c d\r\nb\n\ne\n"), 0o600))
	in, err := os.Open(names)
	require.NoError(t, err)
	defer in.Close()
	cmd := b.command("rebalance", "add", "/g", "-", "f", "-o", "json")
	cmd.Stdin = in
	assert.JSONEq(t, `{"group":"/g","added":["c d","e","f"],"unchanged":1}`, start(t, cmd).ends(0).out.String())
	assert.Equal(t, "2 resources removed, 1 not found\n", b.run("rebalance", "remove", "/g", "a", "x", "e").ends(0).out.String())
	assert.JSONEq(t, `{"group":"/g","removed":[],"unchanged":1}`, b.run("rebalance", "remove", "/g", "a", "-o", "json").ends(0).out.String())
	var got struct{ Resources []rebalancecmd.Resource }
	require.NoError(t, json.Unmarshal([]byte(b.run("rebalance", "ls", "/g", "-o", "json").ends(0).out.String()), &got))
	assert.Equal(t, []rebalancecmd.Resource{{Name: "b", State: "unowned"}, {Name: "c d", State: "unowned"}, {Name: "f", State: "unowned"}}, got.Resources)

	// Without --mode, the group's own counts.
	z := b.run("rebalance", "add", "/g", "x", "--mode", "global").ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), "another mode: it is resource, not global\nzkr: all members of a group must use the same --mode")
	b.run("rebalance", "add", "/global", "x", "--mode", "global").ends(0)
	b.run("rebalance", "add", "/global", "y").ends(0)
	b.run("rebalance", "add", "/global", "z", "--mode", "resource").ends(exit.CodeUsage)
	b.run("rebalance", "remove", "/global", "y").ends(0)
	assert.Equal(t, "global", b.status("/global").Mode)
	b.run("rebalance", "remove", "/global", "x").ends(0)
	b.empty("/global has no resources", "rebalance", "ls", "/global")
}

// TestListAndStatusShowMoves: the owner keeps the resource.
func TestListAndStatusShowMoves(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a", "b", "c", "d e")
	one := b.start(running([]string{"rebalance", "join", "/g", "--id", "one", "--zone", "z", "--weight", "2"}, "sh", "-c", `trap '' TERM; echo in; while :; do sleep 0.1; done`)...)
	// Each shell ignores TERM by now; another shell would give its resource up.
	eventually(t, func() bool { return strings.Count(one.out.String(), "in\n") >= 4 }, "it has all of them")
	b.settled("/g", 1)
	b.joins("/g", "two", "--instance", "i")
	eventually(t, func() bool { return len(b.status("/g").Waiting) == 2 }, "two wait")
	b.run("rebalance", "remove", "/g", "a").ends(0)
	eventually(t, func() bool { return b.status("/g").Members[0].Assigned == 1 }, "the plan is without it")
	b.run("rebalance", "pause", "/g", "--by", "me").ends(0)
	b.shared("/g", "e")
	client, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = client.Create(b.ctx, "/g/clients/_c_00000000-0000-4000-8000-000000000000-latch-0000000007", []byte("no record"), 0, nil)
	require.NoError(t, err)

	golden(t, "rebalance-ls", columns(b.run("rebalance", "ls", "/g").ends(0).out.String()))
	golden(t, "rebalance-status", columns(b.run("rebalance", "status", "/g").ends(0).out.String()))
	st := b.status("/g")
	require.Len(t, st.Members, 3)
	require.Len(t, st.Waiting, 2)
	assert.Equal(t, st.Members[0].Client, st.Coordinator)
	for _, m := range st.Members[:2] {
		assert.WithinDuration(t, time.Now(), m.Since, limit)
		assert.WithinDuration(t, time.Now(), st.Waiting[0].Since, limit)
	}
	assert.Equal(t, []string{"coordinator", "member", "excluded"}, []string{st.Members[0].State, st.Members[1].State, st.Members[2].State})
	assert.Equal(t, rebalancecmd.Move{Resource: "c", For: st.Members[1].Client, Owner: st.Members[0].Client, ForID: "i", OwnerID: "one", Since: st.Waiting[0].Since}, st.Waiting[0])
	assert.Equal(t, "me", st.Paused.By)
	b.run("rebalance", "resume", "/g").ends(0)
	assert.Nil(t, b.status("/g").Paused)
	one.running()
}

// TestStatusShowsAMemberThatWaitsForItsWholeSet: the owner of the missing
// resources keeps them.
func TestStatusShowsAMemberThatWaitsForItsWholeSet(t *testing.T) {
	b := newBed(t)
	b.shared("/g", "a", "b", "c", "d")
	one := b.start(running([]string{"rebalance", "join", "/g", "--id", "one"}, "sh", "-c", `trap '' TERM; echo in; while :; do sleep 0.1; done`)...)
	// Each shell ignores TERM by now; another shell would give its resource up.
	eventually(t, func() bool { return strings.Count(one.out.String(), "in\n") >= 4 }, "it has all of them")
	b.settled("/g", 1)
	nothing := rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error { <-ctx.Done(); return nil })
	group := rebalanser.New(b.client(), "/g", nothing, &rebalanser.Options{ID: "late", StartWhenComplete: true})
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { done <- group.Run(ctx) }()
	eventually(t, func() bool {
		st := b.status("/g")
		return len(st.Members) == 2 && st.Members[1].Missing == 2
	}, "it waits for two")
	client := group.State().Client
	assert.Contains(t, b.run("rebalance", "status", "/g").ends(0).out.String(), client+" starts no new resources until it owns 2 resources more\n")
	assert.Zero(t, b.status("/g").Members[0].Missing)
	cancel()
	require.NoError(t, <-done)
	one.running()
}

// TestWatchShowsWhatBecomesOfAGroup, from when there is none.
func TestWatchShowsWhatBecomesOfAGroup(t *testing.T) {
	b := newBed(t)
	w := []*zkrProcess{b.start("rebalance", "status", "/g", "--watch"), b.start("rebalance", "status", "/g", "--watch", "-o", "json")}
	shows := func(what, event string) {
		t.Helper()
		w[0].says(what)
		w[1].says(`"event":"` + event + `"`)
	}
	shows("absent       no such group\n", "absent")
	b.shared("/g", "a", "b")
	shows("b\n", "ready") // with the group, or just after
	one := b.joins("/g", "one")
	shows("owned        b  by one\n", "owned")
	two := b.joins("/g", "two", "--instance", "i")
	shows("  by i", "joined")
	kept := map[bool]string{true: "b", false: "a"}[strings.Contains(w[0].out.String(), "owned        a  by i")]
	b.run("rebalance", "pause", "/g", "--by", "me").ends(0)
	shows("paused       by me\n", "paused")
	one.signal(syscall.SIGTERM)
	one.ends(0)
	shows("unowned      "+kept+"  was one's\n", "unowned")
	shows("coordinator  i\n", "coordinator")
	b.run("rebalance", "resume", "/g").ends(0)
	shows("resumed\n", "resumed")
	shows("owned        "+kept+"  by i\n", "owned")
	b.run("rebalance", "remove", "/g", kept).ends(0)
	shows("removed      "+kept+"\n", "removed")
	two.signal(syscall.SIGTERM)
	two.ends(0)
	shows("coordinator  none\n", "left")
	for _, s := range b.srv.Sessions() { // the watch continues in another session
		_ = b.srv.ExpireSession(s.ID)
	}
	b.shared("/g", "c")
	shows("unowned      c\n", "unowned")
	for _, z := range w {
		z.signal(syscall.SIGINT)
		z.ends(0)
	}
	var events []string
	for line := range strings.Lines(w[1].out.String()) {
		var e rebalancecmd.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		assert.WithinDuration(t, time.Now(), e.Time, limit)
		events = append(events, e.Event)
		switch e.Event {
		case "ready":
			require.NotNil(t, e.Status)
		case "joined", "left":
			require.NotNil(t, e.Member)
			assert.NotEmpty(t, e.Member.ID)
		}
	}
	assert.Contains(t, events, "removed")
}
