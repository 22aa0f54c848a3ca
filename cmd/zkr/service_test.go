//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/discoverycmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// register starts a zkr as an instance of web until its gate opens.
func (b *bed) register(id string, flags ...string) (z *zkrProcess, open func()) {
	b.Helper()
	gate := filepath.Join(b.TempDir(), "gate")
	args := append([]string{"service", "register", "web", "--id", id}, flags...)
	z = b.start(running(args, "sh", "-c", "echo in; while [ ! -e "+gate+" ]; do sleep 0.1; done; exit 7")...)
	z.says("in")
	return z, func() { require.NoError(b, os.WriteFile(gate, nil, 0o600)) }
}

func TestServiceShowsServicesAndInstances(t *testing.T) {
	b := newBed(t)
	b.empty("there are no services below /services", "service", "ls")
	b.empty("the service web has no instances", "service", "ls", "web")
	one, open := b.register("web-1", "--address", "10.0.0.7", "--port", "80", "--ssl-port", "443", "--payload", `{"zone": "a<b"}`,
		"--uri-spec", "{scheme}://{address}:{port}")
	b.register("web-2", "--disabled")
	b.plant("/services/web/broken {", "/services/empty")
	golden(t, "service-ls", b.run("service", "ls").ends(0).out.String())
	golden(t, "service-ls-web", columns(b.run("service", "ls", "web").ends(0).out.String()))
	assert.Equal(t, `{"base":"/services","services":[{"service":"empty","instances":0},{"service":"web","instances":3}]}`+"\n",
		b.run("service", "ls", "-o", "json").ends(0).out.String())

	var got struct {
		Service   string
		Instances []discoverycmd.Instance
	}
	text := b.run("service", "ls", "web", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Instances, 3)
	first := got.Instances[0]
	node, err := b.srv.Get(first.Path)
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), *first.Registered, limit)
	first.Registered = nil
	assert.JSONEq(t, `{"zone":"a<b"}`, string(first.Payload))
	first.Payload = nil
	assert.Equal(t, discoverycmd.Instance{
		Service: "web", ID: "web-1", State: "enabled", Address: "10.0.0.7", Port: 80, SSLPort: 443, Type: "DYNAMIC", URISpec: "{scheme}://{address}:{port}",
		Enabled: true, Path: "/services/web/web-1", Token: node.Czxid,
	}, first)
	assert.False(t, got.Instances[1].Enabled)
	assert.NotEmpty(t, got.Instances[2].Error)
	open()
	one.ends(7)
	assert.Empty(t, one.err.String())
	assert.NotContains(t, b.run("service", "ls", "web").ends(0).out.String(), "web-1")
}

func TestServiceWatchShowsInstancesThatComeAndGo(t *testing.T) {
	b := newBed(t)
	b.register("old", "--port", "1", "--base", "/apps")
	w := b.start("service", "watch", "web", "--base", "/apps")
	j := b.start("service", "watch", "web", "--base", "/apps", "-o", "json")
	w.says("ready    1 instance")
	j.says(`"ready"`)
	one, open := b.register("new", "--address", "10.0.0.7", "--base", "/apps")
	w.says("added    new  enabled  10.0.0.7")
	j.says("10.0.0.7")
	open()
	one.ends(7)
	w.says("removed  new")
	j.says(`"removed"`)
	w.signal(syscall.SIGTERM)
	j.signal(syscall.SIGTERM)
	golden(t, "service-watch", w.ends(0).out.String())
	lines := strings.Split(strings.TrimSpace(j.ends(0).out.String()), "\n")
	require.Len(t, lines, 4)
	var added discoverycmd.ListEvent
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &added))
	assert.Equal(t, "added", added.Event)
	assert.Equal(t, "10.0.0.7", added.Instance.Address)
}

// TestInstanceFromAFarFutureSpoilsNoList: a time outside of JSON's dates is one
// instance's fault, in lists and in watches.
func TestInstanceFromAFarFutureSpoilsNoList(t *testing.T) {
	b := newBed(t)
	b.register("good", "--port", "80")
	require.NoError(t, b.srv.Create("/services/web/far", []byte(`{"name":"web","id":"far","registrationTimeUTC":99999999999999999}`)))
	var got struct{ Instances []discoverycmd.Instance }
	text := b.run("service", "ls", "web", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	require.Len(t, got.Instances, 2)
	assert.Equal(t, "good", got.Instances[0].ID)
	assert.Equal(t, "enabled", got.Instances[0].State)
	assert.Equal(t, "malformed", got.Instances[1].State)
	assert.Contains(t, got.Instances[1].Error, "registrationTimeUTC")
	assert.Contains(t, b.run("service", "ls", "web").ends(0).out.String(), "registrationTimeUTC")
	for _, output := range []string{"table", "json"} {
		w := b.start("service", "watch", "web", "-o", output)
		w.says("ready")
		w.says("malformed")
		w.signal(syscall.SIGTERM)
		w.ends(0)
	}
}

// TestInstanceStaysRegisteredOverALostSession: the command runs on.
func TestInstanceStaysRegisteredOverALostSession(t *testing.T) {
	b := newBed(t)
	one, open := b.register("a", "--port", "80")
	owner, znode := b.owner("/services/web")
	require.NoError(t, b.srv.ExpireSession(owner))
	eventually(t, func() bool { return strings.Contains(one.err.String(), "web/a is registered again") }, "it says so")
	again := func() int { return strings.Count(one.err.String(), "web/a is registered again") }
	before := again() // on a stalling machine a session can be lost once more
	require.NoError(t, b.srv.Delete(znode))
	eventually(t, func() bool { return again() > before }, "it says so again")
	assert.Contains(t, b.run("service", "ls", "web").ends(0).out.String(), "a   enabled  -        80")
	open()
	one.ends(7)
	b.queued("/services/web", 0)
}

func TestInstanceTypesAndConflicts(t *testing.T) {
	b := newBed(t)
	b.register("a", "--type", "sequential")
	b.register("a", "--type", "sequential")
	b.queued("/services/web", 2)
	b.register("b")
	z := b.run(running([]string{"service", "register", "web", "--id", "b"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the name b in the service web is taken")
	assert.Contains(t, z.err.String(), `"zkr service ls web --base /services" shows the holders`)
	s, open := b.register("s", "--type", "static")
	node, err := b.srv.Get("/services/web/s")
	require.NoError(t, err)
	assert.Zero(t, node.EphemeralOwner)
	open()
	s.ends(7)
	b.queued("/services/web", 3)
}
