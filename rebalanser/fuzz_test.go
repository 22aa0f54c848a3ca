package rebalanser

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
)

// FuzzShard: a member's assignment is read as written, or refused.
func FuzzShard(f *testing.F) {
	for _, data := range []string{
		"", "{}", "null", "[]", `{"client":"c","generation":1,"count":2,"resources":["a","b"]}`, `{"count":1,"resources":["a/b"]}`,
		`{"count":-1}`, `{"generation":-1}`, `{"count":1,"resources":[".."]}`, `{"count":2,"resources":["b","a"]}`,
		`{"count":2,"resources":["a","a"]}`, `{"count":3,"chunks":2,"resources":["a"]}`, `{"count":1,"resources":[""]}`,
	} {
		f.Add([]byte(data), "c", "a b c")
	}
	f.Fuzz(func(t *testing.T, data []byte, client, names string) {
		if r, err := decode[shardRecord]("/g/assignments/k", data); err == nil && r.CheckResources(r.Resources) == nil {
			if r.Generation < 0 || r.Chunks < 0 || r.Chunks > r.Count {
				t.Fatalf("%q: %+v", data, r)
			}
			for _, name := range r.Resources {
				if name == "" || strings.Contains(name, "/") || name == ".." {
					t.Fatalf("%q: resource %q", data, name)
				}
			}
		} else if err != nil && !errors.Is(err, ErrRecord) {
			t.Fatalf("%q: %v", data, err)
		}
		resources := slices.DeleteFunc(strings.Fields(names), func(s string) bool { return validName("resource", s) != nil })
		slices.Sort(resources)
		resources = slices.Compact(resources)
		record, chunks, _ := encodeShard(core.Shard{Client: strings.ToValidUTF8(client, ""), Generation: 3, Resources: resources}, 5, written{}, false)
		r, err := decode[shardRecord]("/g/assignments/k", record)
		if err != nil || r.Client != strings.ToValidUTF8(client, "") || r.Generation != 3 || r.Chunks != len(chunks) {
			t.Fatalf("%v: %+v, %v", resources, r, err)
		}
		if r.Chunks == 0 && (r.CheckResources(r.Resources) != nil || !slices.Equal(r.Resources, resources)) {
			t.Fatalf("%q is read as %q", resources, r.Resources)
		}
	})
}
