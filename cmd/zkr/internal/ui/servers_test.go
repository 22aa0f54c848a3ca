package ui_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A server that stops is a finding on the overview, on the page of the servers, and for
// programs; the findings come from the servers, also while no quorum answers.
func TestServersAndTheirFindingsAreShown(t *testing.T) {
	s := newStageWith(t, &zktest.Options{Servers: 3})
	require.NoError(t, s.srv.Stop(2))
	auditor := &doctor.Auditor{}
	m, base := s.dashboardWith("/", auditor)
	s.shows(m, func(v *ui.View) bool { return !v.Audit.At.IsZero() })
	gone := s.srv.ServerAddr(2)
	_, text, _ := get(t, base+"/servers")
	has(t, text, "<code>"+s.srv.ServerAddr(1)+"</code>", "servers")
	for _, want := range []string{s.srv.ServerAddr(1), "3.8.0", "leader", "unreachable", "server.unreachable", "start the server, or correct its address", "docs/doctor.md#serverunreachable"} {
		has(t, text, want, "servers")
	}
	_, text, _ = get(t, base+"/servers?q="+gone)
	has(t, text, gone, "filtered")
	hasNot(t, text, "<code>"+s.srv.ServerAddr(1)+"</code>", "filtered; the page also names the server of its connection")
	_, text, _ = get(t, base+"/")
	has(t, text, "server.unreachable", "overview")
	has(t, text, gone, "overview")

	_, text, _ = get(t, base+"/api/things")
	var document struct {
		Servers  []struct{ Address, Mode, Version string }
		Findings []doctor.Finding
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	require.Len(t, document.Servers, 3)
	require.NotEmpty(t, document.Findings)
	assert.Equal(t, "server.unreachable", document.Findings[0].Name)
	assert.Equal(t, gone, document.Findings[0].Where)
}

func TestServersAreNotAskedWithoutAnAuditor(t *testing.T) {
	s := newStage(t)
	_, base := s.dashboard("/")
	code, text, _ := get(t, base+"/servers")
	require.Equal(t, http.StatusOK, code)
	has(t, text, "No servers have been asked", "servers")
}

// The dashboard shows who a session is, and the findings about znodes that zkr doctor has.
func TestClientsAndFindingsAboutZnodesAreShown(t *testing.T) {
	s := newStage(t)
	s.put("/locks/report", "")
	_, err := lock.New(s.actor("web-1"), "/locks/report", &lock.Options{ID: "web-1"}).Lock(s.ctx)
	require.NoError(t, err)
	m, base := s.dashboardWith("/", &doctor.Auditor{})
	s.shows(m, func(v *ui.View) bool {
		return slices.ContainsFunc(v.Audit.Findings, func(f doctor.Finding) bool { return f.Name == "acl.open" })
	})
	_, text, _ := get(t, base+"/servers")
	has(t, text, "acl.open", "servers")
	_, text, _ = get(t, base+"/sessions")
	has(t, text, "on server <code>"+s.srv.Addr()+"</code>", "sessions")
	_, text, _ = get(t, base+"/api/things")
	var document struct {
		Sessions []struct {
			Session    string
			Connection *recognize.Connection
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &document))
	require.Len(t, document.Sessions, 1)
	at := document.Sessions[0].Connection
	require.NotNil(t, at)
	assert.Equal(t, s.srv.Addr(), at.Server)
	assert.EqualValues(t, lasting.Milliseconds(), at.Timeout)
	assert.False(t, at.Since.IsZero())
	_, text, _ = get(t, base+"/sessions?q="+at.Client)
	has(t, text, at.Client, "found by the client's address")
}
