package recognize

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// FuzzLook: any tree is recognized without harm, and the result is consistent
// and can be encoded for programs.
func FuzzLook(f *testing.F) {
	for _, lines := range [][]string{
		jobLines(`{"state":"running","workers":6,"next":4,"left":1}`),
		{`/b ={"kind":"double","czxid":100,"parties":-3,"round":2,"released":"9-1,x"}`, "/b/_c_" + uuid(1) + "--party-0000000001 e1"},
		{`/q/admission ={"format":1,"maxTasks":10}`, task("x", taskformat.Dead, 0), "/q/alive/~ e1", "/q/workers//x"},
		{`/g ={"format":1,"mode":"global"}`, "/g/resources/a", `/g/assignments/x ={"client":"","count":2,"resources":["a","a"]}`, "/g/stopped/.", "/g/clients/latch-0000000001 e1"},
		{"/s =2", "/s/" + hexID(1) + " e1 =x", "/s/" + hexID(2) + " e1 =y", "/s/odd denied", "/s-__lock__/" + hexID(3) + "__lock__0000000001 e2 =b'x'", "/s-__lock__/" + hexID(4) + "__lock__2147483647"},
		{"/s/leases/_c_" + uuid(1) + "-lease-0000000001 e1", "/s/leases/_c_" + uuid(2) + "-lease-0000000002 e2 z900", "/s/locks/_c_" + uuid(3) + "-lock-0000000001 e2"},
		{"/barrier/" + uuid(1) + " e1", "/b/ready", "/b/" + hexID(1) + " e1", "/gate =h:1", "/counter =5", "/c v100 =hex:00000001", "/c/_c_" + uuid(1) + "-writer e1"},
		{"/x/x-17-0000000001 e17 =hex:1234", "/x/x--1--2147483648 e-1", "/n/n_0000000001 e1", "/q/queue-|a|0000000001 =hex:00010001", "/x.delay =held 1"},
		{`/s/web/i1 ={"name":"web","id":"i1","registrationTimeUTC":253402300800000,"serviceType":"DYNAMIC"}`, `/s/web/i2 ={"name":"web","serviceType":"DYNAMIC","registrationTimeUTC":-9223372036854775808}`},
		{"/l/lock-0000000001", "/l/lock-0000000001x", "/l/__lock__9999999999 e1", "/l/c_0000000000", "/s =99999999999", "/s/-99999999999-permit-0000000001 e1"},
	} {
		f.Add(strings.Join(lines, "\n"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, "/") && line != "/" && !strings.HasPrefix(line, "//") && !strings.ContainsAny(line[:1], " ") && len(strings.Fields(line)) > 0 {
				lines = append(lines, line)
			}
		}
		defer func() {
			if e := recover(); e != nil {
				t.Fatalf("%v\n%s", e, text)
			}
		}()
		w := look(Past{Began: noon.Add(-time.Hour)}, lines...)
		out, err := json.Marshal(struct{ Things, Sessions any }{w.Things, w.Sessions})
		require.NoError(t, err)
		require.Less(t, len(out), 2000*w.Nodes+100*len(text), "the output is bounded by the input")
		for _, thing := range w.Things {
			require.NotEmpty(t, thing.Path)
			for i, c := range thing.Queue {
				for _, at := range c.Watches {
					require.Less(t, at, i, "a waiter watches a predecessor")
				}
				require.False(t, c.Holds && len(c.Watches) > 0)
			}
		}
	})
}

// TestLongQueuesAreToldAsTheRulesSay: only the first of a queue are asked for by
// the rules of the recipes, and the others take less time.
func TestLongQueuesAreToldAsTheRulesSay(t *testing.T) {
	writes := func(m string) bool { return m == lockformat.CuratorWrite }
	rapid.Check(t, func(t *rapid.T) {
		marks := rapid.SliceOfN(rapid.SampledFrom([]string{lockformat.CuratorRead, lockformat.CuratorRead, lockformat.CuratorRead, lockformat.CuratorWrite, "-1" + markPermit, "-3" + markPermit}), 1, 200).Draw(t, "marks")
		readers := rapid.IntRange(0, 150).Draw(t, "readers first")
		total := rapid.IntRange(1, 300).Draw(t, "permits")
		permits := rapid.Bool().Draw(t, "a semaphore")
		lines, names := []string{"/x =" + strconv.Itoa(total)}, []string{}
		for i, m := range append(slices.Repeat([]string{lockformat.CuratorRead, "-1" + markPermit}, readers), marks...) {
			if strings.HasSuffix(m, markPermit) == permits {
				name := fmt.Sprintf("_c_%s%s%s%010d", uuid(i), map[bool]string{false: "-"}[permits], m, i)
				names, lines = append(names, name), append(lines, "/x/"+name+" e1")
			}
		}
		if len(names) == 0 {
			return
		}
		q := znode.Parse(names, lockformat.CuratorRead, lockformat.CuratorWrite, markPermit)
		thing := look(Past{}, lines...).Things[0]
		for i, c := range thing.Queue {
			rule := contender.Weighted(total, lockformat.PermitsOf)
			if !permits && writes(q.Entries[i].Marker) {
				rule = contender.Writer(writes)
			} else if !permits {
				rule = contender.Reader(writes)
			}
			d := rule(q, i)
			require.Equal(t, d.Granted, c.Holds, "%d of %v", i, names)
			if i < Shown {
				shown := len(d.Watch)
				if !permits { // the predecessor
					shown = min(1, shown)
				}
				require.Len(t, c.Watches, shown)
			}
		}
	})
}

// crowd is a tree of about n nodes of all kinds.
func crowd(n int) []*Node {
	var lines []string
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; len(lines) < n; i++ {
		switch r.IntN(5) {
		case 0:
			for k := range 5 {
				lines = append(lines, fmt.Sprintf("/app/locks/l%d/_c_%s-lock-%010d e%d =web-%d", i, uuid(i*10+k), k, 1+r.IntN(500), k))
			}
		case 1:
			for k := range 5 {
				lines = append(lines, fmt.Sprintf(`/app/services/s%d/i%d e%d ={"name":"s%d","id":"i%d","address":"10.0.0.1","port":80,"payload":{"zone":"a"},"registrationTimeUTC":1,"serviceType":"DYNAMIC"}`, i, k, 1+r.IntN(500), i, k))
			}
		case 2:
			lines = append(lines, fmt.Sprintf("/app/counters/c%d =hex:%016x", i, i))
		case 3:
			lines = append(lines, fmt.Sprintf(`/app/config/f%d ={"a":%d,"b":["x","y"],"c":{"d":"e"}}`, i, i))
		default:
			lines = append(lines, fmt.Sprintf("/app/members/g%d/m e%d =x", i, 1+r.IntN(500)))
		}
	}
	return nodes(lines...)
}

// TestTenThousandTakeFewAllocations: the count does not depend on the machine;
// BenchmarkLook10000 measures the time.
func TestTenThousandTakeFewAllocations(t *testing.T) {
	all := crowd(10_000)
	var w *World
	n := testing.AllocsPerRun(3, func() { w = Look(slices.Values(all), Past{Began: noon}, noon) })
	require.Greater(t, len(w.Things), 2000)
	require.Less(t, n/float64(len(all)), 18.0, "allocations for each node: there are 12")
}

func BenchmarkLook10000(b *testing.B) {
	all := crowd(10_000)
	for b.Loop() {
		Look(slices.Values(all), Past{Began: noon}, noon)
	}
}

// BenchmarkQueue10000 is a single lock with as many contenders.
func BenchmarkQueue10000(b *testing.B) {
	var lines []string
	for i := range 10_000 {
		lines = append(lines, fmt.Sprintf("/l/_c_%s-__READ__%010d e%d =r", uuid(i), i, i+1))
	}
	all := nodes(lines...)
	for b.Loop() {
		Look(slices.Values(all), Past{Began: noon}, noon)
	}
}

// TestLargeDataIsNotKept.
func TestLargeDataIsNotKept(t *testing.T) {
	big := []byte("{" + strings.Repeat(" ", 1<<20) + "}")
	n := NewNode("/a", big, session.Stat{})
	require.True(t, len(n.Data) == keptJSON)
	require.True(t, len(NewNode("/a", []byte(`{"format":1`+string(big)), session.Stat{}).Data) == keptRecord)
	require.Equal(t, len(big), n.Size)
	_, ok := readRecord[identified](n)
	require.False(t, ok, "a truncated record is not decoded")
}
