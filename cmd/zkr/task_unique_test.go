//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestUniqueTaskIsSubmittedOnce while the key is taken; zkr says which task has the key.
func TestUniqueTaskIsSubmittedOnce(t *testing.T) {
	b := newBed(t)
	first := b.give(0, "1", "/q", "--unique", "nightly")
	assert.Empty(t, first.err.String())
	id := strings.TrimSpace(first.out.String())
	again := b.give(0, "2", "/q", "--unique", "nightly")
	assert.Equal(t, id+"\n", again.out.String())
	assert.Contains(t, again.err.String(), "no task was submitted: the task "+id+" exists")
	assert.Equal(t, `{"queue":"/q","id":"`+id+`","new":false}`+"\n", b.give(0, "", "/q", "--unique", "nightly", "-o", "json").out.String())
	assert.Equal(t, "nightly", b.taskIs("/q", id).Key)
	assert.Regexp(t, `(?m)^unique +nightly`, b.run("task", "show", "/q", id).ends(0).out.String())
	b.run("task", "cancel", "/q", id).ends(0)
	assert.Regexp(t, `"id":"other","new":true`, b.give(0, "", "/q", "--unique", "nightly", "--id", "other", "-o", "json").out.String())

	b.give(0, "", "/q", "--unique", "year", "--every", "87600h", "--id", "decade")
	b.run("task", "cancel", "/q", "decade").ends(0)
	assert.Equal(t, "decade\n", b.give(0, "", "/q", "--unique", "year", "--every", "87600h").out.String())
	assert.False(t, b.taskIs("/q", "decade").KeyUntil.IsZero())

	b.leads("/q")
	b.serves("/q", "cat")
	assert.Equal(t, "x", b.give(0, "x", "/q", "--unique", "result", "--wait").out.String())
}
