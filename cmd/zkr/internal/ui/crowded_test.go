package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// crowdedQueue puts a task queue with 100 workers, 100 schedules, and 30 failed and 30
// running tasks on the stage.
func (s *stage) crowdedQueue(queue string) {
	s.Helper()
	s.taskQueue(queue)
	for i := range 100 {
		worker := fmt.Sprintf("mailer-%03d.eu-west-1.example.org~0123456789abcdef", i)
		profile := taskformat.Profile{Format: taskformat.Format, Name: taskformat.WorkerName(worker), Concurrency: 8, Labels: []string{"smtp", "bulk", "zone-eu-west-1a"}}
		s.ephemeral("workers", queue+"/alive/"+worker, string(taskformat.Encode(profile)))
		s.put(queue+"/workers/"+worker, "")
		name := fmt.Sprintf("digest-of-customer-%03d", i)
		schedule := taskformat.Schedule{Format: taskformat.Format, Name: name, Every: taskformat.ToMillis(time.Hour), MaxAttempts: 3, Since: time.Now().Add(-time.Hour)}
		s.put(queue+"/schedules/"+name, string(taskformat.EncodeSchedule(schedule, nil)))
		r := taskformat.Record{Format: taskformat.Format, Run: "0123456789abcdef", ID: fmt.Sprintf("mail-%03d", i), State: taskformat.Dead, Attempt: 1, MaxAttempts: 3, Submitted: time.Now(), FinishedAt: time.Now(), LastFailure: strings.Repeat("550 mailbox unavailable ", 20)}
		if i >= 30 && i < 60 {
			r.State, r.Worker, r.Assignment = taskformat.Assigned, worker, fmt.Sprintf("mail-%03d~1-1.1", i)
			now := taskformat.Assignment{Format: taskformat.Format, Task: r, Progress: &taskformat.Progress{Done: 1, Total: 9, Note: strings.Repeat("sending ", 30)}}
			s.put(queue+"/workers/"+worker+"/"+r.Assignment, string(taskformat.Encode(now)))
		}
		if i < 60 {
			s.task(queue, r.ID, "x", r)
		}
	}
}

// crowdedJob puts a job with 1,000 workers on the stage, half of which run, 100 phases that
// are over, and 100 pairs of metadata.
func (s *stage) crowdedJob(name string) {
	s.Helper()
	const workers = 1000
	metadata := make(map[string]string)
	for i := range 100 {
		metadata[fmt.Sprintf("key-%03d", i)] = "value"
	}
	job, err := workerctl.Submit(s.ctx, s.actor("driver"), workerctl.Spec{Name: name, Workers: workers, Metadata: metadata}, nil)
	require.NoError(s, err)
	run := jobformat.DefaultRoot + "/" + name + "/" + jobformat.RunName(job.ID())
	status := jobformat.Encode(jobformat.Status{State: jobformat.Running, Workers: workers, Next: workers, Joins: workers})
	require.NoError(s, s.srv.Set(run+"/"+jobformat.NodeState, status))
	for id := range workers {
		m := jobformat.Member{ID: id, Name: fmt.Sprintf("count-%04d.eu-west-1.example.org:7000", id), Incarnation: 1, Claim: "00000000-0000-4000-8000-000000000001", Addresses: []string{"10.1.0.1:7000"}, Node: "rack-1"}
		require.NoError(s, s.srv.Create(fmt.Sprintf("%s/%s/%d", run, jobformat.DirMembers, id), jobformat.Encode(m)))
		if id%2 == 0 {
			s.ephemeral("workers", run+"/"+jobformat.DirLive+"/"+m.Live(), "")
		}
	}
	for i := range 100 {
		s.put(fmt.Sprintf("%s/%s/phase-number-%03d", run, jobformat.DirPhases, i), "")
	}
}

// Pages of cards are as small as those of lines, and what a card leaves out is one step away.
func TestCardsOfCrowdedQueuesAndJobsFitOnAPage(t *testing.T) {
	s := newStage(t)
	const things = 12
	for i := range things {
		s.crowdedQueue(fmt.Sprintf("/queues/mail-%02d", i))
		s.crowdedJob(fmt.Sprintf("wordcount-%02d", i))
	}
	m, base := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		crowded := 0
		for _, t := range append(v.Kinds(recognize.Tasks), v.Kinds(recognize.Job)...) {
			switch {
			case t.Tasks != nil && len(t.Tasks.Workers) == 100 && len(t.Tasks.Schedules) == 100 && t.Tasks.Total == 60 && len(t.Tasks.Running) == 20,
				t.Job != nil && t.Job.Running == 500 && len(t.Job.Workers) == 1000 && len(t.Job.Phases) == recognize.Shown:
				crowded++
			}
		}
		return crowded == 2*things
	})
	for _, query := range []string{"/tasks", "/tasks?page=2", "/tasks?path=/queues/mail-00", "/jobs", "/jobs?path=/twister2/wordcount-00", "/?q=mail", "/?q=wordcount", "/", "/sessions"} {
		code, text, _ := get(t, base+query)
		require.Equal(t, 200, code)
		t.Logf("%s: %d bytes", query, len(text))
		assert.Less(t, len(text), 300_000, query)
	}
	for query, wants := range map[string][]string{
		"/tasks": {
			`<a href="/tasks?path=%2Fqueues%2Fmail-00">100 workers</a>`, `<a href="/tasks?path=%2Fqueues%2Fmail-00">100 schedules</a>`, `<a href="/tasks?path=%2Fqueues%2Fmail-00">60 tasks</a>`,
			"mailer-009.", "digest-of-customer-009",
		},
		"/tasks?path=/queues/mail-00": {"<summary>100 workers</summary>", "<summary>100 schedules</summary>", "mailer-099.", "digest-of-customer-099"},
		"/jobs":                       {"<a href=\"/jobs?path=%2Ftwister2%2Fwordcount-00\">1\u202f000 workers</a>", "key-000 = value", "and 88 more"},
		"/?q=mail":                    {`<a href="/tasks?path=%2Fqueues%2Fmail-11">60 tasks</a>`},
		"/?q=wordcount":               {"<a href=\"/jobs?path=%2Ftwister2%2Fwordcount-11\">1\u202f000 workers</a>"},
	} {
		_, text, _ := get(t, base+query)
		for _, want := range wants {
			has(t, text, want, query)
		}
	}
	_, text, _ := get(t, base+"/tasks")
	hasNot(t, text, "mailer-010.", "the card has the first ones")
	hasNot(t, text, "digest-of-customer-010", "the card has the first ones")
}
