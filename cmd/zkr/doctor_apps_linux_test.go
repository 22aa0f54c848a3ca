package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// A problem of each kind of recipe that has problems. The problems themselves are the subject of
// package recognize; the contender in each queue is persistent, as no session removes it.
func TestDoctorFindsProblemsOfEachKindOnApache(t *testing.T) {
	t.Parallel()
	const (
		contender = "_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82f-"
		run       = "/jobs/wc/1234567890ab4def"
	)
	a := newAiling(t, &apache.Options{})
	s := a.session()
	for name, znodes := range map[string][][2]string{
		"app.mutex":           {{"/mutex/" + contender + "lock-0000000001"}},
		"app.read-write-lock": {{"/rw/" + contender + "__WRIT__0000000001"}},
		"app.semaphore":       {{"/semaphore", "2"}, {"/semaphore/" + contender + "1-permit-0000000001"}},
		"app.election":        {{"/election/" + contender + "latch-0000000001"}},
		"app.barrier":         {{"/meeting/" + contender + "ann-party-0000000001"}},
		"app.double-barrier":  {{"/double", `{"format":2,"kind":"double","parties":[3]}`}},
		"app.counter":         {{"/number", "abc"}, {"/number/" + contender + "writer"}},
		"app.service": {{"/services/web/odd", "x"}, {
			"/services/web/i1", `{"name":"web","id":"i1","address":"10.0.0.1","port":80,"registrationTimeUTC":1,"serviceType":"DYNAMIC"}`,
		}},
		"app.job": {{"/jobs/wc", `{"format":1,"id":"12345678-90ab-4def-8234-567890abcdef","name":"wc","reuseIDs":false,"created":"2026-01-02T11:00:00Z"}`},
			{run + "/state", `{"state":`}},
		"app.rebalancer": {{"/shares", `{"format":2}`}, {"/shares/resources/a"}, {"/shares/assignments"}},
		"app.task-queue": {{"/queue/admission", `{"format":1,"maxTasks":10}`}, {"/queue/admission/open"}, {"/queue/tasks"}, {"/queue/schedules/x", `{"format":2}`}},
	} {
		for _, z := range znodes {
			if strings.HasSuffix(z[0], "writer") { // the mark that makes the path a counter
				_, err := s.Create(t.Context(), z[0], nil, session.Ephemeral, nil)
				require.NoError(t, err)
				continue
			}
			require.NoError(t, s.EnsurePath(t.Context(), z[0], session.Persistent, nil))
			_, err := s.Set(t.Context(), z[0], []byte(z[1]), -1)
			require.NoError(t, err)
		}
		top, _, _ := strings.Cut(znodes[0][0][1:], "/")
		top = "/" + top
		assert.NotEmpty(t, diagnose(t, a.cluster.Connect(), top, "--no-write").where(name), name)
		_, err := s.DeleteAll(t.Context(), top, nil)
		require.NoError(t, err)
		assert.Empty(t, diagnose(t, a.cluster.Connect(), "--no-write").where(name), name)
	}
}
