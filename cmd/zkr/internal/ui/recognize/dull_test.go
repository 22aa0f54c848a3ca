package recognize

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// TestChildrenThatSayNothing: children of all recipes come to a folder and go, each for itself,
// among others that say nothing about the folder. It is recognized as if it had been so from the
// beginning.
func TestChildrenThatSayNothing(t *testing.T) {
	uuid := func(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", i) }
	lines := []string{
		"a", "b", "c-1", // say nothing
		"web e3", uuid(1) + " e4", "0123456789abcdef0123456789abcdef", hexID(3) + "__party__ e3", "denied denied",
		"lock-0000000001 e5", "deadlock-0000000002", "_c_" + uuid(4) + "-lock-0000000003",
		"_c_" + uuid(5) + "-ann-party-0000000001", "qn-0000000001", "entry-100-0000000007",
		"leases", "leases/_c_" + uuid(6) + "-lease-0000000001 e3", "locks", "locks/_c_" + uuid(7) + "-lock-0000000001 e4",
		"ready", "entries", "entries/entry-100-0000000001", "taken",
		`admission ={"format":1,"maxTasks":10}`, "tasks", "resources", "assignments",
		"1234567890ab4def", "1234567890ab4def/members", "1234567890ab4def/live",
		`x ={"format":1,"client":"k"}`, `y ={"name":"d","id":"1","address":"h","serviceType":"DYNAMIC"}`,
		"_c_" + uuid(8) + "-writer e5", "_c_" + uuid(9) + "-value e5",
	}
	for _, n := range seeds(t) { // the names, owners and data of all recipes
		if !strings.ContainsAny(n.Path, " ") && len(n.Data) < 300 && !strings.Contains(string(n.Data), "\n") {
			lines = append(lines, fmt.Sprintf("%s e%d =%s", n.Name(), n.Stat.EphemeralOwner, n.Data))
		}
	}
	const own = 33 // of the lines
	above := []string{"", "3", `{"format":1,"mode":"resource"}`, `{"format":99,"id":"1234567890ab4def","name":"d"}`, "plain"}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		folder := []string{"/d", "/app/barrier"}[seed%2]
		f := &forest{nodes: map[string]*Node{}, past: Past{Holds: map[Tenure]time.Time{}}, now: noon}
		first := map[string]*Node{}
		f.set(first, f.fresh("/", &Node{}, 0))
		f.set(first, f.fresh(folder, &Node{}, 0))
		f.compare(t, first)
		few := r.Perm(own)[:3+r.IntN(5)]
		for range r.IntN(3) {
			few = append(few, r.IntN(len(lines)))
		}
		for range 60 {
			changes := map[string]*Node{}
			for range 1 + r.IntN(2) {
				if r.IntN(12) == 0 {
					next := NewNode(folder, []byte(above[r.IntN(len(above))]), session.Stat{Czxid: f.nodes[folder].Stat.Czxid})
					f.set(changes, next)
					continue
				}
				head, data, _ := strings.Cut(lines[few[r.IntN(len(few))]], " =")
				words := strings.Fields(head)
				if len(words) == 0 {
					continue
				}
				path := folder + "/" + words[0]
				if f.nodes[path] != nil {
					f.remove(changes, path)
					continue
				}
				n := &Node{Path: path, Denied: len(words) > 1 && words[1] == "denied"}
				if !n.Denied {
					owner := int64(0)
					if len(words) > 1 {
						owner, _ = strconv.ParseInt(words[1][1:], 10, 64)
					}
					n = f.fresh(path, NewNode(path, []byte(data), session.Stat{}), owner)
				}
				f.set(changes, n)
			}
			f.compare(t, changes)
		}
	}
}
