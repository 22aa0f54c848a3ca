package recognize

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// crowds are trees of n nodes, each of a single kind, made to take long.
//
// read only
var crowds = map[string]func(n int) []string{
	"locks with waiting rooms": func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("/l/%d/_c_%s-lock-0000000001 e%d", i, uuid(i), i+1),
				fmt.Sprintf("/l/%d.waiting/place-0000000001 e%d =hex:%x", i, i+n+1, "_c_"+uuid(i+n)+"-lock-\nme"))
		}
		return out
	},
	"locks with delays": func(n int) (out []string) {
		for i := range n / 3 {
			out = append(out, fmt.Sprintf("/l/%d/_c_%s-lock-0000000001 e%d", i, uuid(i), i+1), fmt.Sprintf("/l/%d.delay =held 1", i))
		}
		return out
	},
	"one read/write lock": func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("/l/_c_%s-__%s__%010d e%d", uuid(i), []string{"READ", "WRIT"}[i/60%2], i, i%7+1))
		}
		return out
	},
	"permits": func(n int) (out []string) {
		out = append(out, fmt.Sprintf("/s =%d", n/2))
		for i := range n {
			out = append(out, fmt.Sprintf("/s/_c_%s-1-permit-%010d e%d", uuid(i), i, i+1))
		}
		return out
	},
	"leases": func(n int) (out []string) {
		for i := range n / 2 {
			out = append(out, fmt.Sprintf("/s/leases/_c_%s-lease-%010d e1", uuid(i), i), fmt.Sprintf("/s/locks/_c_%s-lock-%010d e1", uuid(n+i), i))
		}
		return out
	},
	"Kazoo's semaphore": func(n int) (out []string) {
		out = append(out, fmt.Sprintf("/s =%d", n))
		for i := range n / 2 {
			out = append(out, fmt.Sprintf("/s/%s e1", hexID(i)), fmt.Sprintf("/s-__lock__/%s__lock__%010d e1", hexID(n+i), i))
		}
		return out
	},
	"twins": func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("/l/_c_%s-latch-%010d e1", uuid(1), i))
		}
		return out
	},
	"counters": func(n int) (out []string) {
		for i := range n / 2 {
			out = append(out, fmt.Sprintf("/c/%d =hex:%016x", i, i), fmt.Sprintf("/c/%d/_c_%s-writer e1", i+i%2, uuid(i)))
		}
		return out
	},
	"numbers": func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("/c/%d =%d", i, i))
		}
		return out
	},
	"a barrier": func(n int) (out []string) {
		out = append(out, `/b ={"kind":"double","czxid":100,"parties":3,"round":2,"released":"0-9"}`)
		for i := range n {
			out = append(out, fmt.Sprintf("/b/_c_%s-id%d-party-%010d e1", uuid(i), i, i))
		}
		return out
	},
	"a barrier of many ranges": func(n int) (out []string) {
		var released strings.Builder
		for i := range n {
			fmt.Fprintf(&released, "%d,", 2*n+2*i)
		}
		out = append(out, fmt.Sprintf(`/b ={"kind":"double","czxid":100,"parties":%d,"round":1,"released":%q}`, n, strings.TrimSuffix(released.String(), ",")))
		for i := range n {
			out = append(out, fmt.Sprintf("/b/_c_%s-id%d-party-%010d e1", uuid(i), i, i))
		}
		return out
	},
	"a job": func(n int) (out []string) {
		out = jobLines(`{"state":"running","workers":100000,"next":100000,"left":1}`)
		for i := range n {
			out = append(out, fmt.Sprintf(`/twister2/wc/1234567890ab4def/members/%d ={"id":%d,"name":"w","incarnation":1,"claim":%q}`, i+100, i+100, uuid(i)))
		}
		return out
	},
	"a rebalancer": func(n int) (out []string) {
		out = append(out, `/g ={"format":1,"mode":"resource"}`)
		for i := range n / 4 {
			client := latch(i)
			out = append(out, fmt.Sprintf("/g/resources/%d", i), member(shareformat.ModeResource, i, ""),
				fmt.Sprintf(`/g/assignments/%s ={"client":%q,"generation":5,"count":1,"resources":["%d"]}`, client, client, i), fmt.Sprintf(`/g/barriers/%d ={"client":%q}`, i, client))
		}
		return out
	},
	"a task queue": func(n int) (out []string) {
		out = append(out, `/q/admission ={"format":1,"maxTasks":10}`)
		for i := range n / 3 {
			out = append(out, task(strconv.Itoa(i), taskformat.Dead, 0), fmt.Sprintf("/q/alive/w%d~a e1", i), fmt.Sprintf("/q/workers/v%d~a/x", i))
		}
		return out
	},
}
