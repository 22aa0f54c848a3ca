//go:build unix

package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// "zkr rebalance status" and "zkr rebalance ls" show a resource whose owner is not known, and the
// way out; so they do with other records of a newer version.
func TestGroupStatusShowsUnreadableRecords(t *testing.T) {
	b := newBed(t)
	b.run("rebalance", "add", "/g", "a", "b").ends(0)
	require.NoError(t, b.srv.Create("/g/barriers/a", []byte(`{"format":2}`)))
	require.NoError(t, b.srv.Set("/g/config", []byte(`{"format":2}`)))
	st := b.status("/g")
	assert.Equal(t, []string{"b"}, st.Unowned)
	require.Len(t, st.Unreadable, 2)
	assert.Equal(t, "/g/barriers/a", st.Unreadable[0].Path)
	assert.Equal(t, "a", st.Unreadable[0].Resource)
	assert.Equal(t, "/g/config", st.Unreadable[1].Path)
	out := b.run("rebalance", "status", "/g").ends(0).out.String()
	assert.Contains(t, out, "\nunreadable: not a record of this package: /g/barriers/a: the record has format 2, ")
	assert.Contains(t, out, "set the data of this znode to the empty string\n")
	assert.Contains(t, out, "\nunreadable: not a record of this package: /g/config: the record has format 2, ")
	out = b.run("rebalance", "ls", "/g").ends(0).out.String()
	assert.Regexp(t, `(?m)^a +unknown `, out)
	assert.Regexp(t, `(?m)^b +unowned `, out)
}

// "zkr rebalance status" names the resources without a subscriber, and the
// resources that fail at their owner.
func TestGroupStatusShowsUncoveredAndFailingResources(t *testing.T) {
	b := newBed(t)
	b.run("rebalance", "add", "/g", "orders-1", "mail-1").ends(0)
	ctx, cancel := context.WithCancel(b.ctx)
	g := rebalanser.New(b.client(), "/g", rebalanser.Each(func(context.Context, *rebalanser.Resource) error {
		return errors.New("no such queue")
	}), &rebalanser.Options{ID: "m", Subscription: []string{"orders-*"}, RetryDelay: time.Hour})
	over := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { over <- g.Run(ctx) }()
	eventually(t, func() bool { return len(b.status("/g").Failing) == 1 }, "it fails")
	st := b.status("/g")
	assert.Equal(t, []string{"mail-1"}, st.Uncovered)
	assert.Equal(t, "orders-1", st.Failing[0].Resource)
	out := b.run("rebalance", "status", "/g").ends(0).out.String()
	assert.Contains(t, out, "\nno member subscribes to: mail-1\n")
	assert.Contains(t, out, "\nfailing: orders-1 at m, 1 failure in a row: no such queue; next call ")
	cancel()
	require.NoError(t, <-over)
}
