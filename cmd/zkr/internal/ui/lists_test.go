package ui_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// lineName finds the names of the lines of a list.
var lineName = regexp.MustCompile(`<article class="entry" data-item>.*?\n<div><a href="[^"]*"><bdi>([^<]*)</bdi>`) // read only

// lines are the names of the lines of a page.
func lines(text string) (out []string) {
	for _, m := range lineName.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// taskQueue puts a queue without tasks on the stage.
func (s *stage) taskQueue(path string) {
	s.Helper()
	for _, dir := range []string{"", "/masters", "/tasks/00", "/data/00", "/alive", "/workers"} {
		s.put(path+dir, "")
	}
	s.record(path+"/admission", map[string]any{"format": 1, "maxTasks": 100_000})
	s.put(path+"/admission/open", "")
}

// task puts a task with a payload into a queue.
func (s *stage) task(queue, name, payload string, r taskformat.Record) {
	s.Helper()
	r.Format, r.Run, r.MaxAttempts = taskformat.Format, "0123456789abcdef", 3
	require.NoError(s, s.srv.Create(queue+"/tasks/00/"+name, taskformat.Encode(r)))
	require.NoError(s, s.srv.Create(queue+"/data/00/"+name+"~"+r.Run, []byte(payload)))
}

// TestTasksOfAQueueAreListed with state, attempt, worker, error and payload.
func TestTasksOfAQueueAreListed(t *testing.T) {
	s := newStage(t)
	s.taskQueue("/q")
	at := func(minutes int) time.Time { return time.Now().Add(-time.Duration(minutes) * time.Minute) }
	s.task("/q", "new", `{"to":"ann"}`, taskformat.Record{ID: "new", State: taskformat.Waiting, Attempt: 1, Priority: 7, Submitted: at(1), Labels: []string{"smtp"}})
	s.task("/q", "old", `{"to":"bob"}`, taskformat.Record{ID: "old", State: taskformat.Waiting, Attempt: 2, Submitted: at(9)})
	s.task("/q", "runs", "x", taskformat.Record{ID: "runs", State: taskformat.Assigned, Attempt: 1, Submitted: at(8), AssignedAt: at(2), Worker: "mailer-1~0123456789abcdef", Assignment: "runs~1-1.1"})
	s.task("/q", "ill", "x", taskformat.Record{ID: "ill", State: taskformat.Dead, Attempt: 3, Submitted: at(8), FinishedAt: at(3), LastFailure: "550 <b>mailbox</b>"})
	s.task("/q", "ok", "x", taskformat.Record{ID: "ok", State: taskformat.Done, Attempt: 1, Submitted: at(8), FinishedAt: at(4)})
	s.put("/q/tasks/00/garbage", "{")
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { q := v.Of("/q"); return q != nil && q.Tasks != nil && q.Tasks.Total == 5 })
	page := func(query string) string {
		code, text, _ := get(t, base+"/tasks?path=%2Fq"+query)
		require.Equal(t, 200, code)
		return text
	}
	for query, want := range map[string][]string{
		"":                         {"garbage", "ill", "runs", "old", "new", "ok"},
		"&state=waiting":           {"old", "new"},
		"&state=unreadable":        {"garbage"},
		"&sort=name":               {"garbage", "ill", "new", "ok", "old", "runs"},
		"&sort=since":              {"old", "ok", "ill", "runs", "new", "garbage"},
		"&sort=since&dir=asc":      {"new", "runs", "ill", "ok", "old", "garbage"},
		"&sort=priority":           {"new", "garbage", "ill", "ok", "old", "runs"},
		"&sort=attempt":            {"ill", "old", "new", "ok", "runs", "garbage"},
		"&q=bob":                   {"old"},
		"&q=mailbox":               {"ill"},
		"&q=mailer-1":              {"runs"},
		"&q=smtp+waiting":          {"new"},
		"&q=nothing":               nil,
		"&state=nonsense&page=999": {"garbage", "ill", "runs", "old", "new", "ok"},
	} {
		got := lines(page(query))
		if query == "&sort=name" {
			assert.ElementsMatch(t, want, got, query)
			continue
		}
		assert.Equal(t, want, got, query)
	}
	text := page("")
	for _, want := range []string{
		"unreadable <b>1</b>", "dead <b>1</b>", "waiting <b>2</b>", "3 of 3", "550 &lt;b&gt;mailbox&lt;/b&gt;", "{&#34;to&#34;:&#34;ann&#34;}", "the record cannot be read",
		`<input type="hidden" name="path" value="/q">`, `placeholder="Filter by id, worker, error, payload"`, `href="/tree?path=%2Fq%2Fdata%2F00%2Fnew~0123456789abcdef"`,
	} {
		has(t, text, want, "list")
	}
	has(t, page("&q=nothing"), `<a href="?path=%2fq">Clear the filter</a>`, "the list stays")
	_, text, _ = get(t, base+"/tasks")
	has(t, text, `<a href="/tasks?path=%2Fq">5 tasks</a>`, "the card leads to the list")
	for _, gone := range []string{"/none", "/q/tasks", "%3Cscript%3Ealert(1)%3C/script%3E"} {
		_, text, _ = get(t, base+"/tasks?path="+gone)
		has(t, text, "There is nothing of this kind", gone)
		harmless(t, gone, text)
	}
}

// crowdedList is how many entries lists are made for.
const crowdedList = 10_000

// TestListsOfTenThousandFitOnPages: tasks, workers of a job, instances and services.
func TestListsOfTenThousandFitOnPages(t *testing.T) {
	s := newStage(t)
	s.taskQueue("/queues/mail")
	states := taskformat.States()
	s.put("/services/web", "")
	for i := range crowdedList {
		id := fmt.Sprintf("mail-to-customer-%05d", i)
		r := taskformat.Record{
			ID: id, State: states[i%len(states)], Attempt: 1 + i%3, Submitted: time.Now(), FinishedAt: time.Now(), AssignedAt: time.Now(), LastFailure: "550 mailbox unavailable",
			Worker: "mailer-7.eu-west-1~0123456789abcdef",
		}
		if r.State == taskformat.Assigned {
			r.Assignment = id + "~1-1.1"
		}
		s.task("/queues/mail", id, fmt.Sprintf(`{"to":"customer-%05d@example.org","template":"invoice"}`, i), r)
		record := fmt.Sprintf(`{"name":"web","id":"web-%05d","address":"10.0.0.7","port":8080,"payload":{"zone":"eu-west-1a"},"serviceType":"DYNAMIC","registrationTimeUTC":1700000000000}`, i)
		require.NoError(t, s.srv.Create(fmt.Sprintf("/services/web/web-%05d", i), []byte(record)))
	}
	for i := range 300 {
		for k := range 20 {
			record := fmt.Sprintf(`{"name":"service-%03d","id":"i-%02d","address":"10.0.0.%d","port":8080,"serviceType":"DYNAMIC","registrationTimeUTC":1700000000000}`, i, k, k)
			s.put(fmt.Sprintf("/services/service-%03d/i-%02d", i, k), record)
		}
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		q := v.Of("/queues/mail")
		return q != nil && q.Tasks.Total == crowdedList && len(v.Kinds(recognize.Service)) == 301
	})
	for query, want := range map[string]int{
		"/tasks?path=/queues/mail": 100, "/tasks?path=/queues/mail&state=dead&page=7": 100, "/tasks?path=/queues/mail&q=customer-09999": 1,
		"/services?path=/services/web": 100, "/services?path=/services/web&sort=name&page=100": 100, "/services": 100, "/services?page=4": 1, "/tasks": 0, "/?q=service-": 50,
	} {
		begin := time.Now()
		code, text, _ := get(t, base+query)
		require.Equal(t, 200, code)
		t.Logf("%s: %d bytes in %v", query, len(text), time.Since(begin))
		assert.Less(t, len(text), 300_000, query)
		assert.Equal(t, want, strings.Count(text, `<article class="entry"`), query)
	}
}

// TestHostileTasksTakeABoundedPartOfThePage: names, errors and payloads of all kinds.
func TestHostileTasksTakeABoundedPartOfThePage(t *testing.T) {
	s := newStage(t)
	s.taskQueue("/q")
	for i := range 200 {
		evil := evils()[i%len(evils())].data
		evil = strings.Repeat(evil, 1+1000/len(evil))
		s.task("/q", fmt.Sprintf("t-%03d", i), evil, taskformat.Record{
			ID: evil[:400], State: taskformat.Dead, Attempt: 1, Worker: strings.Repeat("<img src=x onerror=alert(1)>", 15), LastFailure: evil[:900], Labels: []string{evil[:400], evil[:400], evil[:400], evil[:400]}, Submitted: time.Now(), FinishedAt: time.Now(),
		})
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { q := v.Of("/q"); return q != nil && q.Tasks != nil && q.Tasks.Total == 200 })
	for _, query := range []string{"", "&page=2", "&q=" + url.QueryEscape("<script>")} {
		_, text, _ := get(t, base+"/tasks?path=%2Fq"+query)
		t.Logf("%s: %d bytes", query, len(text))
		assert.Less(t, len(text), 300_000, query)
		text = hidden.ReplaceAllString(text, "")
		for _, bad := range []string{"<script>alert", "<img src=x", "\u202e", "\u2066", "\x00", "\x1b", "<b><b>", `href="javascript:`} {
			hasNot(t, text, bad, query)
		}
	}
}

// TestWorkersOfAJobAreListed: those in trouble first.
func TestWorkersOfAJobAreListed(t *testing.T) {
	s := newStage(t)
	s.job()
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		jobs := v.Kinds(recognize.Job)
		return len(jobs) == 1 && len(jobs[0].Job.Workers) == 10 && jobs[0].Job.Dead == 1
	})
	_, text, _ := get(t, base+"/jobs?path=%2Ftwister2%2Fwordcount")
	require.Equal(t, []string{"host-4:7000", "host-10:7000", "host-1:7000", "host-2:7000", "host-3:7000", "host-5:7000", "host-6:7000", "host-7:7000", "host-8:7000", "host-9:7000"}, lines(text))
	has(t, text, "no space left on /data", "the failure")
	_, text, _ = get(t, base+"/jobs?path=%2Ftwister2%2Fwordcount&q=rack-1&sort=number&dir=desc")
	require.Equal(t, []string{"host-10:7000", "host-7:7000", "host-4:7000", "host-1:7000"}, lines(text))
	_, text, _ = get(t, base+"/jobs?path=%2Ftwister2%2Fwordcount&state=left")
	require.Equal(t, []string{"host-9:7000"}, lines(text))
	_, text, _ = get(t, base+"/jobs")
	has(t, text, `<a href="/jobs?path=%2Ftwister2%2Fwordcount">10 workers</a>`, "the card leads to the list")
}
