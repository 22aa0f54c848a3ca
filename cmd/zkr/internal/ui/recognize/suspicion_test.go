package recognize

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// Each suspicion is reported where it is true, and not reported where it may be
// false: for newcomers, nodes read at different moments, unreadable nodes, and
// nodes of a dying session.

func TestContendersThatLastAreOrphans(t *testing.T) {
	check(t, []recognized{
		{"right", []string{"/l/_c_" + uuid(1) + "-latch-0000000001 =ann"},
			"election /l: led by ann\n  bad: orphan: ann is not ephemeral, so no end of a session removes it\n"},
		{"right at once", []string{"/l/_c_" + uuid(1) + "-latch-0000000001 new =ann"},
			"election /l: led by ann\n  bad: orphan: ann is not ephemeral, so no end of a session removes it\n"},
		{"at a barrier", []string{"/b/_c_" + uuid(1) + "-ann-party-0000000001"},
			"barrier /b: 1 waits\n  bad: orphan: ann is not ephemeral, so no end of a session removes it\n"},
		{"at Kazoo's semaphore", []string{"/s =1", "/s/" + hexID(1) + " =ann", "/s-__lock__"},
			"semaphore /s: 0 of 1 permit free\n  bad: orphan: ann is not ephemeral, so no end of a session removes it\n"},
		{"quiet: not readable", []string{"/l/_c_" + uuid(1) + "-latch-0000000001 denied"}, "election /l: led by unknown\n"},
		{"quiet: a reader that was a writer has no number of its own", []string{"/l/_c_" + uuid(1) + "-__READ__0000000001 e1 =ann"}, "read/write lock /l: read by ann\n"},
		{"quiet: a stranger on the path", []string{"/l/_c_" + uuid(1) + "-latch-0000000001 e1 =ann", "/l/config =x"}, "election /l: led by ann\n"},
	})
}

func TestContendersThatAreThereTwiceAreOrphans(t *testing.T) {
	twin := func(seq int, words string) string {
		return fmt.Sprintf("/l/_c_%s-latch-%010d %s =ann", uuid(1), seq, words)
	}
	check(t, []recognized{
		{"right", []string{twin(1, "e1"), twin(2, "e1")},
			"election /l: led by ann, 1 candidate behind\n  bad: orphan: ann has two znodes with one protection id: the creation was repeated, and the client does not know one of them\n"},
		{"quiet: just now, its maker may be clearing up", []string{twin(1, "e1"), twin(2, "e1 new")}, "election /l: led by ann, 1 candidate behind\n"},
		{"quiet: of another session, with which it goes", []string{twin(1, "e1"), twin(2, "e2")}, "election /l: led by ann, 1 candidate behind\n"},
		{"quiet: the owners are unreadable", []string{twin(1, "denied"), twin(2, "denied")}, "election /l: led by unknown, 1 candidate behind\n"},
		{"quiet: two of one session, without an id", []string{"/l/" + hexID(1) + "__lock__0000000001 e1", "/l/" + hexID(2) + "__lock__0000000002 e1"}, "mutex? /l: held by 0x1, 1 waits\n"},
	})
	w := look(Past{}, twin(1, "e1"), twin(2, "e1"), twin(3, "e2"))
	require.NotEmpty(t, w.Things[0].Queue[0].Odd)
	require.NotEmpty(t, w.Things[0].Queue[1].Odd)
	require.Empty(t, w.Things[0].Queue[2].Odd)
}

func TestRevocationIsTold(t *testing.T) {
	check(t, []recognized{
		{"right", []string{"/l/_c_" + uuid(1) + "-lock-0000000001 e1 =__REVOKE__"},
			"mutex /l: held by 0x1\n  hint: another client has asked the contender with number 1 to release (Curator's revocation)\n"},
		{"quiet: part of a name", []string{"/locks/_c_" + uuid(1) + "-lock-0000000001 e1 =__REVOKE__ me"}, "mutex /locks: held by __REVOKE__ me\n"},
	})
}

func TestNumbersThatAreUsedUpAreTold(t *testing.T) {
	exhausted := "election /l: the order of the contenders is unknown\n  bad: a contender has a number that does not show its place: the numbers are used up; delete the path when no client uses it\n"
	check(t, []recognized{
		{"the last", []string{"/l/_c_" + uuid(1) + "-latch-2147483647 e1 =ann"}, exhausted},
		{"below zero", []string{"/l/_c_" + uuid(1) + "-latch--2147483648 e1 =ann"}, exhausted},
		{"below zero, in ten characters", []string{"/l/_c_" + uuid(1) + "-latch--999999999 e1 =ann"}, exhausted},
		{"beside others", []string{"/l/_c_" + uuid(1) + "-latch-0000000001 e1 =ann", "/l/_c_" + uuid(2) + "-latch--2147483648 e2 =bob"}, exhausted},
		{"nearly", []string{"/l/_c_" + uuid(1) + "-latch-2147483600 e1 =ann"},
			"election /l: led by ann\n  warn: the numbers of this path will be used up: the last one is 2147483600 of 2147483647\n"},
		{"quiet: many are left", []string{"/l/_c_" + uuid(1) + "-latch-1000000000 e1 =ann"}, "election /l: led by ann\n"},
	})
}

// TestLongHoldIsPointedOut if other contenders wait, and with more reason if the
// session has nothing else.
func TestLongHoldIsPointedOut(t *testing.T) {
	ann, bob := "/locks/_c_"+uuid(1)+"-lock-0000000001 e1 =ann", "/locks/_c_"+uuid(2)+"-lock-0000000002 e2 =bob"
	path, _, _ := strings.Cut(ann, " ")
	old := func(lines ...string) []*Node {
		all := nodes(lines...)
		for _, n := range all {
			n.Stat.Ctime = noon.Add(-24 * time.Hour).UnixMilli()
		}
		return all
	}
	text := func(past Past, all []*Node) string {
		w := Look(slices.Values(all), past, noon)
		if len(w.Kinds(Mutex)[0].Problems) == 0 {
			return ""
		}
		require.Equal(t, Hint, w.Kinds(Mutex)[0].Worst())
		return w.Kinds(Mutex)[0].Problems[0].Text
	}
	both := old(ann, bob)
	// began makes a Past: ago is the age of the observation, since the observed
	// beginning of the hold, zero if the hold is older.
	began := func(ago time.Duration, since time.Time) Past {
		return Past{Began: noon.Add(-ago), Holds: map[Tenure]time.Time{{path, 100}: since}}
	}
	assert.Equal(t, "perhaps an orphan: ann has held it for more than 20 minutes while 1 waits, and its session has nothing else here",
		text(began(25*time.Minute, time.Time{}), both))
	assert.Contains(t, text(began(25*time.Hour, noon.Add(-150*time.Minute)), both), "more than 2 hours")
	more := slices.Insert(both, 1, old("/frontends/ann e1")[1:]...)
	assert.Equal(t, "ann has held it for more than 1 hour while 1 waits", text(began(time.Hour, time.Time{}), more))

	assert.Empty(t, text(Past{}, both), "without earlier observations")
	assert.Empty(t, text(began(9*time.Minute, time.Time{}), both))
	assert.Empty(t, text(began(25*time.Minute, noon.Add(-time.Minute)), both), "granted a minute ago")
	assert.Empty(t, text(Past{Began: noon.Add(-time.Hour), Holds: map[Tenure]time.Time{}}, both), "waited for long, and granted just now")
	assert.Empty(t, text(began(time.Hour, time.Time{}), nodes(ann, bob)), "created a minute ago")
	assert.Empty(t, text(began(time.Hour, noon.Add(-time.Hour)), old(strings.Replace(ann, "e1", "e1 z200", 1), bob)), "another node with the same path")
	assert.Empty(t, text(began(time.Hour, time.Time{}), old(ann)), "no contender waits")
}

// TestTenuresAreOfNodesNotOfPaths: names are used again, by Kazoo's Semaphore for
// one.
func TestTenuresAreOfNodesNotOfPaths(t *testing.T) {
	name, since := "/s/"+hexID(1), noon.Add(-time.Hour)
	past := Past{Began: noon, Holds: map[Tenure]time.Time{{name, 101}: since}}
	require.Equal(t, since, look(past, "/s =2", name+" e1 =ann", "/s-__lock__").Things[0].Queue[0].Since)
	require.Zero(t, look(past, "/s =2", name+" z102 e1 =ann", "/s-__lock__").Things[0].Queue[0].Since)
}

func TestSemaphoresOfUnknownSizeAreTold(t *testing.T) {
	permit := "/s/_c_" + uuid(1) + "-1-permit-0000000001 e1 =a"
	check(t, []recognized{
		{"right", []string{"/s", permit}, "semaphore /s: held by a\n  warn: the path does not have the number of permits\n"},
		{"quiet: it says", []string{"/s =1", permit}, "semaphore /s: 0 of 1 permit free\n"},
		{"quiet: it may not be read", []string{"/s denied", permit}, "semaphore /s: held by a\n"},
	})
}

func TestDeadWorkersAreTold(t *testing.T) {
	job := func(state string) []string {
		return jobLines(`{"state":"` + state + `","workers":4,"next":4,"left":1}`)
	}
	said := func(lines []string) string { return brief(&World{Things: look(Past{}, lines...).Kinds(Job)}) }
	died := "  warn: worker 1 (w1) has died; the job waits for it to come back\n"
	require.Equal(t, "job /twister2/wc: 2 of 4 running, 1 dead, 1 left\n"+died, said(job("running")))
	require.Equal(t, "job /twister2/wc: submitted: 2 of 4 running, 1 dead, 1 left\n"+died, said(job("submitted")))
	for _, over := range []string{"finished", "killed", "abandoned"} {
		require.NotContains(t, said(job(over)), "waits", "no worker is awaited")
	}
	with := func(old, now string) []string {
		var out []string
		for _, line := range job("running") {
			if line = strings.Replace(line, old, now, 1); line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	require.Equal(t, "job /twister2/wc: 2 of 4 running, 1 dead, 1 left\n", said(with("/members/1 =", "/members/1 new =")), "just joined: its live node is about to be read")
	run := "/twister2/wc/1234567890ab4def"
	blind := slices.DeleteFunc(job("running"), func(line string) bool { return strings.HasPrefix(line, run+"/live/") })
	require.Equal(t, "job /twister2/wc: 0 of 4 running, 1 left, 3 unknown\n", said(append(blind, run+"/live denied")), "the live nodes are unreadable")
	gone := slices.DeleteFunc(job("running"), func(line string) bool { return strings.HasPrefix(line, run+"/state") })
	require.Equal(t, "job /twister2/wc: being removed\n", said(gone), "no worker is awaited")
}

func TestQueuesWithoutWorkersAreTold(t *testing.T) {
	lines := func(more ...string) []string {
		return append([]string{`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", task("a", taskformat.Waiting, 0)}, more...)
	}
	head := "task queue /q: 1 waiting, 0 assigned\n"
	headless, alone := "  warn: no master is present: tasks are not assigned\n", "  warn: no worker is present: tasks wait\n"
	gone := "  warn: worker w has gone, and still has 1 task\n"
	check(t, []recognized{
		{"right", lines("/q/masters", "/q/alive"), head + headless + alone},
		{"right: a worker has gone", lines("/q/masters", "/q/alive", "/q/workers/w~a/t~1-1"), head + gone + headless + alone},
		{"quiet: a worker has just come", lines("/q/masters", "/q/alive", "/q/workers/w~a new", "/q/workers/w~a/t~1-1"), head + headless + alone},
		{"quiet: the members are unreadable", lines("/q/masters denied", "/q/alive denied", "/q/workers/w~a/t~1-1"), head},
	})
}

func TestGroupsWithoutMembersAreTold(t *testing.T) {
	lines := func(more ...string) []string {
		return append([]string{`/g ={"format":1,"mode":"resource"}`, "/g/resources/a"}, more...)
	}
	check(t, []recognized{
		{"right", lines("/g/assignments", "/g/clients"), "rebalancer /g: 1 resource shared by 0 members\n  warn: no member is present: the resources have no owner\n"},
		{"quiet: the members are unreadable", lines("/g/assignments", "/g/clients denied"), "rebalancer /g: 1 resource shared by 0 members\n"},
		{"quiet: the assignments are unreadable", lines("/g/assignments denied", member(shareformat.ModeResource, 1, "")),
			"rebalancer /g: 1 resource shared by 1 member\nelection /g/clients: led by c1 [of /g]\n"},
	})
}
