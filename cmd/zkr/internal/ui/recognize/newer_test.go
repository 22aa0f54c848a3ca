package recognize

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// TestNewerFormatsAreNamed: a thing with a record of a newer version is still
// recognized, and the record is not reported as garbage.
func TestNewerFormatsAreNamed(t *testing.T) {
	j := jobLines(`{"state":"running","workers":4,"next":4}`)
	check(t, []recognized{
		{"a job", append([]string{`/twister2/wc ={"format":2,"name":["wc"]}`}, j[1:8]...),
			"job /twister2/wc: not readable\n  warn: the job's record has format 2 of a newer version (update zkr)\n"},
		{"a job's state", append([]string{j[0], `/twister2/wc/1234567890ab4def/state ={"format":3}`, j[2]}, j[6]),
			"job /twister2/wc: not readable\n  bad: the job's state has format 3 of a newer version (update zkr)\n"},
		{"a worker", append([]string{j[0], j[1], `/twister2/wc/1234567890ab4def/members/0 ={"format":2}`}, j[6]),
			"job /twister2/wc: 0 of 4 running, 1 unknown\n  warn: the record of worker 0 has format 2 of a newer version (update zkr)\n"},
		{"a task", []string{`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", task("a", taskformat.Done, 0), `/q/tasks/0a/b ={"format":2}`},
			"task queue /q: 0 waiting, 0 assigned, 1 done\n  warn: 1 task has a format of a newer version (update zkr)\n  warn: no master is present: tasks are not assigned\n"},
		{"a schedule", []string{`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", "/q/tasks", `/q/schedules/x ={"format":2}`, `/q/schedules/y ={"format":1,"name":"y","everyMs":1000,"maxAttempts":1}`, `/q/schedules/y/last ={"format":2}`},
			"task queue /q: 0 waiting, 0 assigned\n  warn: the record of a schedule has format 2 of a newer version (update zkr): no task is submitted\n" +
				"  warn: the record of the last slot of the schedule y has format 2 of a newer version (update zkr): no task is submitted\n"},
		{"what a queue takes", []string{`/q/admission ={"format":2}`, "/q/admission/open", "/q/tasks"},
			"task queue /q: 0 waiting, 0 assigned\n  warn: the record of the queue's capacity has format 2 of a newer version (update zkr)\n"},
		{"a worker of a queue", []string{`/q/admission ={"format":1,"maxTasks":10}`, "/q/admission/open", "/q/tasks", `/q/alive/w1~aa e2 ={"format":2}`},
			"task queue /q: 0 waiting, 0 assigned\n  warn: the record of worker w1 has format 2 of a newer version (update zkr)\n"},
		{"a group", []string{`/g ={"format":2}`, "/g/resources/a", "/g/assignments"}, "rebalancer /g: not readable\n  warn: the group's record has format 2 of a newer version (update zkr)\n"},
		{"parts of a group", []string{`/g ={"format":1,"mode":"resource"}`, "/g/resources/a", `/g/assignments/x ={"format":3}`, `/g/epoch ={"format":2}`, `/g/config ={"format":2}`, `/g/barriers/a ={"format":2}`, "/g/clients/" + latch(1) + ` e1 ={"format":2}`},
			"rebalancer /g: 1 resource shared by 1 member\n  bad: the group's config has format 2 of a newer version (update zkr)\n  bad: the group's epoch has format 2 of a newer version (update zkr)\n" +
				"  warn: the record of member " + latch(1) + " has format 2 of a newer version (update zkr): the member gets no resources\n" +
				"  warn: the shard x has format 3 of a newer version (update zkr): its resources are unknown\n  warn: the owner of a has format 2 of a newer version (update zkr)\nelection /g/clients: led by {\"format\":2} [of /g]\n"},
		{"a barrier", []string{`/b ={"format":2,"kind":"double","parties":[3]}`}, "double barrier /b: 0 wait\n  bad: the barrier's record has format 2 of a newer version (update zkr): no party can pass\n"},
		{"a barrier with parties", []string{`/b ={"format":2}`, "/b/_c_" + uuid(1) + "-ann-party-0000000001 e1"}, "barrier /b: 1 waits\n  bad: the barrier's record has format 2 of a newer version (update zkr): no party can pass\n"},
		{"a barrier with fields of a newer version", []string{`/b ={"kind":"barrier","czxid":100,"parties":3,"round":0,"released":"","more":1}`}, "barrier /b: 0 wait\n  bad: the barrier's record cannot be read: no party can pass\n"},
		{"JSON of a newer format of a stranger", []string{`/j ={"format":2,"name":"x"}`, "/j/x/members", "/k/x/live"}, ""},
	})
}
