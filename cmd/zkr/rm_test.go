//go:build unix

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestRemoveDeletesAZnodeOrATree(t *testing.T) {
	b := newBed(t)
	for _, path := range []string{"/a", "/a/1", "/a/1/x", "/a/2", "/ab", "/one"} {
		require.NoError(t, b.srv.Create(path, nil))
	}
	assert.Equal(t, "deleted 1 znode\n", b.run("rm", "/one").ends(0).out.String())
	assert.Equal(t, `{"path":"/a","deleted":4}`+"\n", b.run("rm", "-r", "/a", "-o", "json").ends(0).out.String())
	assert.Equal(t, "deleted 1 znode\n", b.run("rm", "-r", "/ab").ends(0).out.String())
	z := b.run("rm", "/a").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "there is no znode /a")
}

func TestRemoveRefusesWhatItMustNotDelete(t *testing.T) {
	b := newBed(t)
	for i := range 30 {
		require.NoError(t, b.srv.Create(fmt.Sprintf("/n%d", i), nil))
		require.NoError(t, b.srv.Create(fmt.Sprintf("/n%d/x", i), nil))
	}
	require.NoError(t, b.srv.Create("/n0/y", nil))
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"/"}, exit.CodeUsage, []string{"/"}},
		{[]string{"-r", "/"}, exit.CodeUsage, []string{"the root cannot be deleted"}},
		{[]string{"-r", "/zookeeper"}, exit.CodeUsage, []string{"it belongs to the servers"}},
		{[]string{"-r", "/n0", "--most", "0"}, exit.CodeUsage, []string{"--most is 0"}},
		{[]string{"-r", "/n0", "--most", "2"}, exit.CodeFailed, []string{"too many znodes", "the limit is 2", "--most N raises"}},
		{[]string{"/n0"}, exit.CodeFailed, []string{"/n0", "-r also deletes"}},
		{[]string{"-r", "/none"}, exit.CodeFailed, []string{"there is no znode /none"}},
	} {
		z := b.run(append([]string{"rm"}, c.args...)...).ends(c.code)
		for _, says := range c.says {
			assert.Contains(t, z.err.String(), says, "%q", c.args)
		}
		assert.Empty(t, z.out.String())
	}
	nodes, err := b.srv.Children("/n0")
	require.NoError(t, err)
	require.Len(t, nodes, 2)
}

// Credentials that may not delete are an error with the path.
func TestRemoveOfAZnodeThatMayNotBeDeleted(t *testing.T) {
	b := newBed(t)
	s, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/mine", nil, session.Persistent, &session.CreateOptions{ACL: []session.ACL{{Perms: 1, Scheme: "world", ID: "anyone"}}})
	require.NoError(t, err)
	_, err = s.Create(b.ctx, "/mine/x", nil, session.Persistent, nil)
	require.ErrorIs(t, err, session.ErrNoAuth)
	require.NoError(t, b.srv.Create("/mine/x", nil))
	z := b.run("rm", "-r", "/mine").ends(exit.CodeDenied)
	assert.Contains(t, z.err.String(), "/mine")
}
