package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Options.StartWhenComplete: start handlers run only after all barriers of the new set
// are held, R27.

var whole = rebalanser.Options{StartWhenComplete: true} // read only

// sets records every set ever assigned to each client.
type sets struct {
	srv  *zktest.Server
	mode rebalanser.Mode

	// mu guards all: the sets of each client, in the order of the writes, each
	// as its names with commas.
	mu  sync.Mutex
	all map[string][]string
}

// follow records all assignments from now on.
func follow(srv *zktest.Server, mode rebalanser.Mode) *sets {
	s := &sets{srv: srv, mode: mode, all: map[string][]string{}}
	srv.OnApply(func(txn zktest.Txn) {
		for _, p := range txn.Paths {
			if rest, is := strings.CutPrefix(p, path+"/assignments/"); is && txn.Code == 0 && !strings.Contains(rest, "/") {
				s.note(p)
			}
		}
	})
	return s
}

func (s *sets) note(path string) {
	n, err := s.srv.Get(path)
	if err != nil || len(n.Data) == 0 {
		return // deleted, or not written yet
	}
	shard, err := shareformat.Decode[shareformat.Shard](n.Data)
	if err != nil {
		return
	}
	var children []string
	for i := range shard.Chunks {
		if n, err := s.srv.Get(path + "/" + shareformat.ChunkName(shard.ChunkGeneration(), i)); err == nil {
			names, _ := shareformat.DecodeChunk(n.Data) // after an error the set is none that was assigned
			children = append(children, names...)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[shard.Client] = append(s.all[shard.Client], strings.Join(shard.Assemble(children), ","))
}

// judge holds a call of Assigned against them: client, whose handler has been told of
// these resources by now, must have been assigned just these once, and have their
// barriers.
func (s *sets) judge(client string, told []string) error {
	s.mu.Lock()
	known := slices.Contains(s.all[client], strings.Join(told, ","))
	s.mu.Unlock()
	if !known {
		return fmt.Errorf("%s starts, and has %v then, which is no set that it was assigned: %v", client, told, s.all[client])
	}
	if s.mode == rebalanser.GlobalBarrier {
		return nil
	}
	for _, r := range told {
		n, err := s.srv.Get(path + "/barriers/" + r)
		if err != nil || !strings.Contains(string(n.Data), client) {
			return fmt.Errorf("%s starts, and the barrier of %s says %s (%w)", client, r, n.Data, err)
		}
	}
	return nil
}

// watch makes a handler check its calls of Assigned, before any loss, and then
// continue as before.
func (s *sets) watch(h *recorder, group func() *rebalanser.Group) {
	after := h.before
	h.before = func(ctx context.Context, what string, rs []*rebalanser.Resource) error {
		s.look(ctx, h, group().State().Client, what, rs)
		if after == nil {
			return nil
		}
		return after(ctx, what, rs)
	}
}

func (s *sets) look(ctx context.Context, h *recorder, client, what string, rs []*rebalanser.Resource) {
	if what[0] != '+' {
		return
	}
	err := s.judge(client, h.o.of(h.memberID))
	for _, r := range rs {
		if r.Context().Err() != nil {
			return
		}
	}
	h.o.mu.Lock()
	defer h.o.mu.Unlock()
	if err != nil && ctx.Err() == nil && !h.o.dead[h.memberID] && !time.Now().Before(h.o.excused[h.memberID]) {
		h.o.say("%v", err)
	}
}

// slowly lets a handler take so long to give something up.
func slowly(d time.Duration) func(context.Context, string, []*rebalanser.Resource) error {
	return func(_ context.Context, what string, _ []*rebalanser.Resource) error {
		if what[0] == '-' {
			world.Pause(d)
		}
		return nil
	}
}

// waiting is a group of two members with two resources each, and "c4", which
// has just been assigned one resource of each: c2 gives up its resource at
// once, c3 takes d.
func (w *World) waiting(d time.Duration, o rebalanser.Options) (a *rebalanser.Admin, quick, slow, late *node) {
	w.Helper()
	a = w.stock(6)
	quick, slow, late = w.node("c2", whole), w.node("c3", whole), w.node("c4", o)
	quick.run()
	w.Pass(time.Second)
	slow.run()
	w.Pass(time.Second)
	w.shared(6, quick, slow)
	slow.before = slowly(d)
	quick.takeCalls()
	slow.takeCalls()
	late.run()
	w.Pass(time.Second)
	return a, quick, slow, late
}

// holds lists the resources whose barriers n's client holds.
func (w *World) holds(n *node) (out []string) {
	w.Helper()
	for _, name := range w.Children(path + "/barriers") {
		b, err := w.Server.Get(path + "/barriers/" + name)
		require.NoError(w, err)
		if c := n.group.State().Client; c != "" && strings.Contains(string(b.Data), c) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func inResource(t *testing.T, body func(w *World)) {
	t.Helper()
	inWorld(t, rebalanser.ResourceBarrier, nil, body)
}

func TestStartHandlersRunWhenAllOfTheNewSetIsOwned_R27(t *testing.T) {
	inResource(t, func(w *World) {
		a, _, slow, late := w.waiting(time.Minute, whole)
		w.Pass(49 * time.Second)
		require.Len(w, w.holds(late), 1, "c4 has taken the free resource")
		require.Empty(w, late.takeCalls(), "and its handler was not called")
		require.Equal(w, 1, late.group.State().Missing)
		st := w.status(a)
		require.Len(w, st.Members, 3)
		require.Equal(w, []int{0, 0, 1}, []int{st.Members[0].Missing, st.Members[1].Missing, st.Members[2].Missing})
		require.Equal(w, 2, st.Members[2].Assigned)
		require.Len(w, st.Members[2].Owned, 1)
		require.Len(w, st.Waiting, 1)
		require.Equal(w, slow.group.State().Client, st.Waiting[0].On)
		w.Pass(15 * time.Second)
		require.Equal(w, []string{"+" + strings.Join(w.holds(late), ",")}, late.takeCalls(), "then with all, in one call")
		require.Len(w, w.holds(late), 2)
		require.Zero(w, late.group.State().Missing)
		require.Zero(w, w.status(a).Members[2].Missing)
		w.shared(6, slow, late, w.nodeCalled("c2"))
	})
}

// nodeCalled is a member of which only the name matters.
func (w *World) nodeCalled(memberID string) *node {
	return &node{recorder: &recorder{memberID: memberID}}
}

// Without the option each resource is started when owned.
func TestByDefaultNoResourceWaitsForOthers(t *testing.T) {
	inResource(t, func(w *World) {
		a, _, _, late := w.waiting(time.Minute, rebalanser.Options{})
		require.Equal(w, []string{"+" + w.holds(late)[0]}, late.takeCalls())
		require.Zero(w, late.group.State().Missing)
		require.Zero(w, w.status(a).Members[2].Missing)
		w.Pass(70 * time.Second)
		require.Equal(w, 1, count(late.takeCalls(), "+"))
	})
}

// A resource taken away from a waiting member is free at once, and the member's
// handler is not called for this resource. The member continues to wait for its
// new set.
func TestNewerSetWhileAMemberWaits_R27_R32(t *testing.T) {
	inResource(t, func(w *World) {
		a, quick, _, late := w.waiting(time.Minute, whole)
		held := w.holds(late)
		require.Len(w, held, 1)
		_, err := a.RemoveResources(w.Ctx, held...)
		require.NoError(w, err)
		w.Pass(time.Second)
		require.NotContains(w, w.holds(late), held[0])
		require.Empty(w, late.takeCalls())
		_, err = a.AddResources(w.Ctx, held...)
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Empty(w, late.takeCalls(), "the member still waits for the rest")
		w.Pass(time.Minute)
		require.Equal(w, []string{"+" + strings.Join(w.holds(late), ",")}, late.takeCalls())
		for _, call := range quick.takeCalls() {
			require.Equal(w, byte('-'), call[0], "no other member was disturbed")
		}
	})
}

// A member waits for a former owner that never gives up, until this owner's
// session has expired or the owner may keep the resource.
func TestWaitForTheWholeSetEndsWithTheFormerOwner_R27(t *testing.T) {
	inResource(t, func(w *World) {
		_, _, slow, late := w.waiting(time.Hour, whole)
		w.Pass(10 * time.Minute)
		require.Empty(w, late.takeCalls())
		w.Server.BlackHole(zktest.Link{Client: "c3"}, zktest.Both)
		w.Pass(15 * time.Second)
		require.Len(w, w.holds(late), 3, "of the six, with one other member")
		calls := late.takeCalls()
		require.Equal(w, 3, count(calls, "+"))
		require.Contains(w, calls[0], ",", "the awaited set, and then perhaps newer resources")
		require.Empty(w, w.of(slow.memberID))
		w.Server.Heal()
	})
}

// A member that leaves while waiting gives back its resources, and starts
// nothing.
func TestMemberLeavesWhileItWaits_R27(t *testing.T) {
	inResource(t, func(w *World) {
		_, quick, slow, late := w.waiting(time.Minute, whole)
		began := time.Now()
		late.stop()
		require.Less(w, time.Since(began), time.Second)
		require.Empty(w, late.takeCalls())
		w.Pass(2 * time.Minute)
		w.shared(6, quick, slow)
		quick.stop()
		slow.stop()
		require.NoError(w, leftBehind(w.Server))
	})
}

// A waiting member continues with its running resources, and gives them up when
// told to.
func TestRunningResourceIsRevokedWhileOthersWait_R23_R27(t *testing.T) {
	inResource(t, func(w *World) {
		a, quick, _, late := w.waiting(time.Minute, whole)
		quick.stop() // its resources go to the others, while c3 still gives up
		w.Pass(time.Second)
		require.Empty(w, late.takeCalls())
		w.Pass(2 * time.Minute)
		mine := w.of("c4")
		require.Len(w, mine, 3)
		require.Equal(w, []string{"+" + strings.Join(mine, ",")}, late.takeCalls())
		hold := make(chan struct{})
		slow := w.node("c5", whole)
		slow.before = waitFor(hold)
		slow.run()
		w.Pass(time.Second)
		require.Equal(w, 1, count(late.takeCalls(), "-"))
		_, err := a.RemoveResources(w.Ctx, mine...)
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Empty(w, w.of("c4"))
		close(hold)
	})
}

func TestEachStartsAllFunctionsTogether_R27(t *testing.T) {
	inResource(t, func(w *World) {
		var k worker
		_, _, _, late := w.waiting(time.Minute, whole)
		late.stop()
		w.Pass(2 * time.Minute)
		n := &node{w: w, group: rebalanser.New(w.Client(), path, rebalanser.Each(k.work), &whole)}
		n.run()
		w.Pass(30 * time.Second)
		require.Empty(w, k.now())
		require.Equal(w, 1, n.group.State().Missing)
		w.Pass(40 * time.Second)
		require.Len(w, k.now(), 2)
		n.stopIt()
		require.NoError(w, n.awaitEnd())
	})
}

// The same under every fault at every request of a waiting member, and of an
// awaited member.
func TestWholeSetsUnderEveryFault_R27(t *testing.T) {
	everyFault(t, func(mode rebalanser.Mode) world.Trial {
		return trial(mode, "take over what two have, leave", func(ctx context.Context, p *play) error {
			p.sets = follow(p.srv, mode)
			if _, err := p.admin(p.party.Other).AddResources(ctx, names(6)[4:]...); err != nil {
				return err
			}
			p.join(ctx, "other", p.party.Other, whole)
			if err := p.until(ctx, "the other owns all", p.owns("other", 6)); err != nil {
				return err
			}
			p.join(ctx, "third", p.party.Other, whole).slow.Store(int64(2 * time.Second))
			return p.until(ctx, "the third has its share", func() bool { return p.owns("other", 3)() && p.owns("third", 3)() })
		}, func(ctx context.Context, p *play) error {
			m := p.join(ctx, "tested", p.party.Tested, whole)
			err := p.until(ctx, "each has its share", func() bool {
				return p.owns("tested", 2)() && p.owns("other", 2)() && p.owns("third", 2)()
			})
			return errors.Join(err, m.end(), p.until(context.Background(), "the others own all again", func() bool {
				return p.owns("other", 3)() && p.owns("third", 3)()
			}))
		})
	})
}

// Incomplete sets are detected.
func TestSetsNoticeAnEarlyStart(t *testing.T) {
	inResource(t, func(w *World) {
		s := follow(w.Server, w.mode)
		_, _, _, late := w.waiting(time.Minute, rebalanser.Options{})
		require.ErrorContains(w, s.judge(late.group.State().Client, w.of("c4")), "no set that it was assigned")
		require.ErrorContains(w, s.judge("nobody", nil), "no set")
		s.all["nobody"] = []string{"r00"}
		require.ErrorContains(w, s.judge("nobody", []string{"r00"}), "the barrier of r00")
	})
}
