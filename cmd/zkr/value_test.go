//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

func TestValueCommandsReadAndChangeTheBytes(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		line, out string
		code      int
	}{
		{"get /v", "", 0},
		{"set /v night", "", 0},
		{"get /v", "night", 0},
		{"cas /v day dawn", "", exit.CodeBusy},
		{"cas /v night dawn", "", 0},
		{"get /v", "dawn", 0},
		{"set /v -- -5", "", 0},
		{"get /v", "-5", 0},
		{"set /v x -o json", `{"path":"/v","data":"x"}` + "\n", 0},
		{"cas /v x y -o json", `{"path":"/v","data":"y"}` + "\n", 0},
		{"set /new a --if-zxid 0", "", 0},
		{"set /new b --if-zxid 0", "", exit.CodeBusy},
		{"get /new", "a", 0},
	} {
		z := b.run(append([]string{"value"}, strings.Fields(c.line)...)...).ends(c.code)
		assert.Equal(t, c.out, z.out.String(), c.line)
	}
	z := b.run("value", "cas", "/v", "z", "y").ends(exit.CodeBusy)
	assert.Equal(t, "zkr: the value /v is not z\nzkr: \"zkr value get /v\" shows the value\n", z.err.String())
	z = b.run("value", "set", "/v", "late", "--if-zxid", "1").ends(exit.CodeBusy)
	assert.Equal(t, "zkr: the value /v is not that of zxid 1 any more\nzkr: \"zkr value get /v\" shows the value\n", z.err.String())
	node, err := b.srv.Get("/v")
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf(`{"path":"/v","exists":true,"version":%d,"zxid":"%d","data":"y"}`+"\n", node.Version, node.Mzxid), b.run("value", "get", "/v", "-o", "json").ends(0).out.String())
	b.run("value", "set", "/v", "edited", "--if-zxid", fmt.Sprint(node.Mzxid)).ends(0)
	b.run("value", "set", "/v", "edited again", "--if-zxid", fmt.Sprint(node.Mzxid)).ends(exit.CodeBusy)
	assert.Equal(t, "edited", b.run("value", "get", "/v").ends(0).out.String())
	assert.Equal(t, `{"path":"/none","exists":false,"version":0,"zxid":"0","data":""}`+"\n", b.run("value", "get", "/none", "-o", "json").ends(0).out.String())
}

// All bytes come from stdin and go to stdout as they are; JSON has other bytes than text in base64.
func TestValueKeepsAllBytes(t *testing.T) {
	b := newBed(t)
	const data = "\x00\xff\x1b[31m\n\n"
	piped := func(args ...string) {
		cmd := b.command(append([]string{"value"}, args...)...)
		cmd.Stdin = strings.NewReader(data)
		start(t, cmd).ends(0)
	}
	piped("set", "/v", "-")
	assert.Equal(t, data, b.run("value", "get", "/v").ends(0).out.String())
	assert.Contains(t, b.run("value", "get", "/v", "-o", "json").ends(0).out.String(), `"data_base64":"AP8bWzMxbQoK"`)
	piped("cas", "/v", "-", "text")
	piped("cas", "/v", "text", "-")
	node, err := b.srv.Get("/v")
	require.NoError(t, err)
	assert.Equal(t, data, string(node.Data))
}

func TestValueWatchShowsEachChange(t *testing.T) {
	b := newBed(t)
	w := b.start("value", "watch", "/v")
	j := b.start("value", "watch", "/v", "-o", "json")
	w.says("(no znode)")
	j.says("\n")
	b.plant("/v")
	w.says("  \n")
	j.says(`"exists":true`)
	for _, data := range []string{"night", "day\x1b"} {
		require.NoError(t, b.srv.Set("/v", []byte(data)))
		w.says(strings.ReplaceAll(data, "\x1b", `\x1b`))
		j.says(strings.ReplaceAll(data, "\x1b", `\u001b`))
	}
	w.signal(syscall.SIGINT)
	j.signal(syscall.SIGINT)
	golden(t, "value-watch", w.ends(0).out.String())
	var last struct {
		Time    time.Time
		Data    string
		Exists  bool
		Version int32
		Zxid    int64 `json:",string"`
	}
	lines := strings.Split(strings.TrimSpace(j.ends(0).out.String()), "\n")
	require.Len(t, lines, 4)
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &last))
	node, err := b.srv.Get("/v")
	require.NoError(t, err)
	assert.Equal(t, "day\x1b", last.Data)
	assert.Equal(t, node.Mzxid, last.Zxid)
	assert.Equal(t, node.Version, last.Version)
	assert.True(t, last.Exists)
}
