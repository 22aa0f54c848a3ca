//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// happens checks a change, and waits until the zkr shows the change.
func (z *zkrProcess) happens(err error, shows string) {
	z.t.Helper()
	require.NoError(z.t, err)
	z.says(shows)
}

func TestWatchShowsOneZnode(t *testing.T) {
	b := newBed(t)
	w := b.start("watch", "/a")
	w.says("ready")
	w.happens(b.srv.Create("/a", []byte("one")), "added    /a  v0, 3 B  one")
	w.happens(b.srv.Create("/a/child", nil), "")
	w.happens(b.srv.Set("/a", []byte("\x1b[2J")), `v1, 4 B  "\x1b[2J"`)
	w.happens(b.srv.Set("/a", nil), "v2, 0 B\n")
	require.NoError(t, b.srv.Delete("/a/child"))
	w.happens(b.srv.Delete("/a"), "removed  /a\n")
	w.signal(syscall.SIGINT)
	golden(t, "watch", w.ends(0).out.String())
	assert.Empty(t, w.err.String())

	b.plant("/b here")
	w = b.start("watch", "/b", "--data")
	w.says("ready    1 znode")
	w.happens(b.srv.Set("/b", bytes.Repeat([]byte("long "), 100)), strings.Repeat("long ", 100))
	w.signal(syscall.SIGTERM)
	assert.True(t, strings.Contains(w.ends(0).out.String(), "present  /b  v0, 4 B  here\n"))
}

func TestWatchShowsChildrenOnly(t *testing.T) {
	b := newBed(t)
	b.plant("/a mine", "/a/old 1")
	w := b.start("watch", "/a", "--children")
	w.says("ready    1 znode")
	w.happens(b.srv.Create("/a/new", []byte("2")), "added    /a/new  v0, 1 B  2")
	require.NoError(t, b.srv.Set("/a", []byte("not shown")))
	b.plant("/a/new/deep")
	s, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/a/mine", nil, session.Ephemeral, nil)
	w.happens(err, fmt.Sprintf("ephemeral of %#x", s.ID()))
	w.happens(b.srv.Delete("/a/old"), "removed  /a/old\n")
	w.signal(syscall.SIGINT)
	golden(t, "watch-children", w.ends(0).out.String())
}

func TestWatchShowsATreeAsJSON(t *testing.T) {
	b := newBed(t)
	b.plant("/a", "/a/b x")
	w := b.start("watch", "/a", "--tree", "-o", "json")
	w.says(`"ready"`)
	w.happens(b.srv.Create("/a/b/c", []byte{0xff}), `/a/b/c`)
	w.happens(b.srv.Set("/a/b", []byte("y")), `"updated"`)
	w.happens(b.srv.Delete("/a/b/c"), `"removed"`)
	w.signal(syscall.SIGINT)
	type event struct {
		Event, Path, Data string
		Base64            []byte `json:"data_base64"`
		Count             int
		Version, Size     *int32
		Czxid, Mzxid      int64 `json:",string"`
		Time              time.Time
	}
	var got []event
	for line := range strings.Lines(w.ends(0).out.String()) {
		var e event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		assert.WithinDuration(t, time.Now(), e.Time, limit)
		got = append(got, e)
	}
	require.Len(t, got, 6)
	for i, want := range []string{"present /a ", "present /a/b x", "ready  ", "added /a/b/c ", "updated /a/b y", "removed /a/b/c "} {
		assert.Equal(t, want, got[i].Event+" "+got[i].Path+" "+got[i].Data)
	}
	assert.Equal(t, 2, got[2].Count)
	assert.Equal(t, []byte{0xff}, got[3].Base64)
	node, err := b.srv.Get("/a/b")
	require.NoError(t, err)
	assert.Equal(t, node.Mzxid, got[4].Mzxid)
	assert.Equal(t, node.Czxid, got[4].Czxid)
	assert.EqualValues(t, 1, *got[4].Version)
	assert.Nil(t, got[5].Version)
}

// TestWatchFindsOutWhatItMissed while its session was lost.
func TestWatchFindsOutWhatItMissed(t *testing.T) {
	b := newBed(t)
	b.plant("/a", "/a/b", "/a/c")
	w := b.start("watch", "/a", "--tree", "--session-timeout", "6s")
	w.says("ready    3 znodes")
	lost := b.srv.Sessions()[0].ID
	b.srv.BlackHole(zktest.Link{Session: lost}, zktest.Both)
	require.NoError(t, b.srv.Set("/a/b", []byte("changed")))
	require.NoError(t, b.srv.Delete("/a/c"))
	b.plant("/a/d new")
	eventually(t, func() bool { return len(b.srv.Sessions()) == 0 }, "its session has expired")
	b.srv.Heal()
	w.says("updated  /a/b  v1, 7 B  changed")
	w.says("removed  /a/c")
	w.says("added    /a/d  v0, 3 B  new")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

func TestWatchOfWhatMayNotBeRead(t *testing.T) {
	b := newBed(t)
	owner, err := session.Connect(b.ctx, b.srv.Addr(), &session.Options{
		Timeout: longest, ACL: session.CreatorACL(), Credentials: []session.Credential{session.Digest("ann", "a")},
	})
	require.NoError(t, err)
	defer func() { _ = owner.Close(b.ctx) }()
	s, err := owner.Session(b.ctx)
	require.NoError(t, err)
	b.plant("/a")
	_, err = s.Create(b.ctx, "/a/secret", nil, session.Persistent, nil)
	require.NoError(t, err)
	b.run("watch", "/a/secret").ends(exit.CodeDenied)
	w := b.start("watch", "/a", "--children")
	w.says("present  /a/secret  not readable with these credentials")
	w.signal(syscall.SIGINT)
	w.ends(0)
}
