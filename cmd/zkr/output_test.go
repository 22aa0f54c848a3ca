//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/barriercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/discoverycmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/electcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/jobcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/lockcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rebalancecmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/rwlockcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/znodecmd"
	"github.com/zkrecipes/zkrecipes/lock"
)

// TestClosedPipeEndsQuietly: the code is that of a program that SIGPIPE ends.
func TestClosedPipeEndsQuietly(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	defer func() { _ = w.Close() }()
	defer cli.IgnoreBrokenPipes()()
	a := &app{App: cli.App{Stdout: w}}
	f := exit.Classify(a.PrintJSON("anything"))
	assert.Equal(t, 141, f.Code)
	assert.True(t, f.Mute)
}

// empty requires a note about an empty list on stderr alone, and an empty list
// in JSON.
func (b *bed) empty(says string, args ...string) {
	b.Helper()
	z := b.run(args...).ends(0)
	assert.Equal(b, "zkr: "+says+"\n", z.err.String(), args)
	assert.Empty(b, z.out.String(), args)
	z = b.run(append(args, "-o", "json")...).ends(0)
	assert.Empty(b, z.err.String(), args)
	var got map[string]any
	require.NoError(b, json.Unmarshal([]byte(z.out.String()), &got), args)
	lists := 0
	for _, value := range got {
		if list, ok := value.([]any); ok {
			lists++
			assert.Empty(b, list, args)
		}
	}
	assert.Equal(b, 1, lists, args)
}

// TestColumnsAreNamedLikeFields: columns of tables have the names of fields of
// "-o json". AGE is the time before SINCE, for people.
func TestColumnsAreNamedLikeFields(t *testing.T) {
	for columns, of := range map[string]any{
		lockcmd.ContenderColumns: lockcmd.Contender{}, rwlockcmd.SharerColumns: rwlockcmd.Sharer{}, electcmd.CandidateColumns: records.Candidate{}, barriercmd.GuestColumns: barriercmd.Guest{}, discoverycmd.MemberColumns: discoverycmd.Member{},
		discoverycmd.InstanceColumns: discoverycmd.Instance{}, discoverycmd.OfferColumns: discoverycmd.Offer{}, jobcmd.Columns: jobcmd.Info{}, jobcmd.WorkerColumns: jobcmd.Worker{},
		rebalancecmd.MemberColumns: rebalancecmd.Member{}, rebalancecmd.MoveColumns: rebalancecmd.Move{}, rebalancecmd.ResourceColumns: rebalancecmd.Resource{},
		taskcmd.Columns: taskcmd.Task{}, taskcmd.WorkerColumns: taskcmd.Worker{},
	} {
		fields := fieldsOf(reflect.TypeOf(of))
		for _, column := range strings.Fields(columns) {
			name := strings.ToLower(strings.ReplaceAll(column, "-", "_"))
			assert.True(t, name == "age" || fields[name], "%T has no %q", of, name)
		}
	}
}

// TestSameThingsHaveTheSameNames in the JSON of all commands.
func TestSameThingsHaveTheSameNames(t *testing.T) {
	for _, of := range []any{lockcmd.Contender{}, rwlockcmd.Sharer{}, records.Candidate{}, barriercmd.Guest{}, discoverycmd.Member{}} {
		fields := fieldsOf(reflect.TypeOf(of))
		for _, name := range []string{"id", "token", "session", "since", "path"} {
			assert.True(t, fields[name], "%T has no %q", of, name)
		}
	}
	for _, of := range []any{discoverycmd.Instance{}, jobcmd.Info{}, znodecmd.Node{}, znodecmd.Change{}} {
		assert.True(t, fieldsOf(reflect.TypeOf(of))["path"], "%T has no path", of)
	}
	for _, of := range []any{znodecmd.Change{}, discoverycmd.ListEvent{}, jobcmd.Event{}, rebalancecmd.Event{}, taskcmd.AttemptEvent{}} {
		fields := fieldsOf(reflect.TypeOf(of))
		assert.True(t, fields["time"] && fields["event"], "%T", of)
	}
}

// fieldsOf are the names of a type's fields in JSON.
func fieldsOf(of reflect.Type) map[string]bool {
	out := map[string]bool{}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out[name] = true
		}
	}
	return out
}

// TestRemarksAreJSONWhereTheOutputIs, so that a program can parse all of
// stderr.
func TestRemarksAreJSONWhereTheOutputIs(t *testing.T) {
	b := newBed(t)
	z := b.start("lock", "/l", "-o", "json", "--grace", "1s", "--", "sh", "-c", "echo in; exec sleep 1000")
	z.says("in") // a contender that loses its session before it holds the lock waits again
	owner, _ := b.owner("/l")
	require.NoError(t, b.srv.ExpireSession(owner))
	z.ends(exit.CodeLost)
	var says []string
	for line := range strings.Lines(z.err.String()) {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		for key := range got {
			says = append(says, key)
		}
	}
	assert.Contains(t, says, "note")
	assert.Contains(t, says, "error")
}

// TestAllErrorsAreJSON, also errors about the command line.
func TestAllErrorsAreJSON(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"tree / --bogus -o json", "tree --bogus --output=json", "-ojson nonsense", "watch -o json", "lock /a --timeout x -o json -- true"} {
		z := inside(t, command("x", strings.Fields(line)...)).ends(exit.CodeUsage)
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(z.err.String()), &got), "%s: %s", line, z.err)
		assert.EqualValues(t, exit.CodeUsage, got["code"])
	}
	z := inside(t, with(command("x", "tree", "--bogus"), "ZKR_OUTPUT=json")).ends(exit.CodeUsage)
	assert.Contains(t, z.err.String(), `{"error":`)
	for _, line := range []string{"tree --bogus", "lock /a -- x -o json --bogus", "tree -o json --bogus -o table", "tree --bogus -o"} {
		assert.NotContains(t, inside(t, command("x", strings.Fields(line)...)).wait().err.String(), "{", line)
	}
}

// FuzzEncode: foreign JSON is passed on as valid UTF-8, without control
// characters for a terminal, and means the same where the JSON was valid.
func FuzzEncode(f *testing.F) {
	for _, s := range []string{
		`"plain"`, "\"\x9b31m\"", "\"\u009b\u202e\u2066\u200f\u007f\ufeff\"", "\"\U000e0001 \U0001f389\"", "{\"\xff\":[\"\x80\xc2\"]}", `"\ud800"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return // discovery lists no such payload
		}
		out, err := cli.Encode(discoverycmd.Instance{Payload: data})
		require.NoError(t, err)
		require.True(t, utf8.Valid(out), "%q", out)
		require.True(t, json.Valid(out), "%q", out)
		for _, r := range string(out) {
			if r < ' ' || r == 0x7f || r > 0x7f && !unicode.IsPrint(r) {
				t.Fatalf("%q becomes %q", data, out)
			}
		}
		var back discoverycmd.Instance
		require.NoError(t, json.Unmarshal(out, &back))
		var want, got any
		require.NoError(t, json.Unmarshal(bytes.ToValidUTF8(data, []byte("\ufffd")), &want))
		require.NoError(t, json.Unmarshal(back.Payload, &got))
		require.Equal(t, want, got)
	})
}

// TestJSONHasTextAsItIs: characters that are escaped for a terminal are escaped
// as in JSON.
func TestJSONHasTextAsItIs(t *testing.T) {
	b := newBed(t)
	const id = "a \x1b[2J \u00fc"
	held, err := lock.New(b.client(), "/l", &lock.Options{ID: id}).Lock(b.ctx)
	require.NoError(t, err)
	require.Equal(t, id, b.list("/l").Contenders[0].ID)
	assert.Contains(t, b.run("lock", "ls", "/l").ends(0).out.String(), `"a \x1b[2J \u00fc"`)
	assert.Equal(t, held.Path(), b.list("/l").Contenders[0].Path)
	assert.Equal(t, "\"\\xff\"", cli.AsText([]byte("\xff")))
}
