package recognize

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shared is a group of two members in this mode, followed by more lines.
func shared(mode string, more ...string) []string {
	return append([]string{
		fmt.Sprintf(`/g ={"format":1,"mode":%q}`, mode), "/g/assignments",
		member(mode, 1, ""), member(mode, 2, ""),
	}, more...)
}

func latch(n int) string { return fmt.Sprintf("_c_%s-latch-%010d", uuid(n), n) }

// shard is the record of a member's resources from a generation on.
func shard(n, generation int, resources ...string) string {
	list, _ := json.Marshal(resources)
	return fmt.Sprintf(`/g/assignments/%s ={"client":%q,"generation":%d,"count":%d,"resources":%s}`, latch(n), latch(n), generation, len(resources), list)
}

// TestAShardAsLongAsTheyAreIsRead: up to 256 KiB of names, with overhead.
func TestAShardAsLongAsTheyAreIsRead(t *testing.T) {
	lines, names, size := []string{}, []string{}, 0
	for i := 0; size < 256<<10-100; i++ {
		names = append(names, fmt.Sprintf("%s-%06d", strings.Repeat("n", 90), i))
		lines = append(lines, "/g/resources/"+names[i])
		size += len(names[i]) + 3
	}
	w := look(Past{}, shared("global", append(lines, shard(1, 5, names...))...)...)
	require.Empty(t, w.Things[0].Problems)
	require.Len(t, w.Things[0].Shares.Members[0].Cells, len(names))
	require.Len(t, w.Things[0].Shares.Resources, len(names), "with the first 80 characters in common")
}

// TestUnreadableRecordIsNotMissing: its content is unknown.
func TestUnreadableRecordIsNotMissing(t *testing.T) {
	resources := []string{"/g/resources/a", "/g/resources/b"}
	cut := strings.TrimSuffix(shard(2, 5, "b"), "}") + `,"x":"` + strings.Repeat("y", keptRecord) + `"}`
	election := "election /g/clients: led by c1, 1 candidate behind [of /g]\n"
	group := "rebalancer /g: 2 resources shared by 2 members\n"
	owns := func(name string, n int) string { return `/g/barriers/` + name + ` ={"client":"` + latch(n) + `"}` }
	of := func(mode string, more ...string) []string { return shared(mode, append(resources, more...)...) }
	j := jobLines(`{"state":"running","workers":4,"next":4}`)
	check(t, []recognized{
		{"a long shard", of("global", shard(1, 5, "a"), cut), group + "  warn: the shard " + latch(2) + " is too long to be read: its resources are unknown\n" + election},
		{"a long shard, and barriers", of("resource", shard(1, 5, "a"), cut, owns("a", 1), owns("b", 2)), group + "  warn: the shard " + latch(2) + " is too long to be read: its resources are unknown\n" + election},
		{"a shard that may not be read", of("global", shard(1, 5, "a"), "/g/assignments/"+latch(2)+" denied"), group + election},
		{"a part of a shard that is not there", of("global", shard(1, 5, "a"), `/g/assignments/`+latch(2)+` ={"client":"`+latch(2)+`","generation":5,"count":1,"chunks":1}`), group + election},
		{"a part of a shard that is broken", of("global", `/g/assignments/s ={"client":"`+latch(2)+`","generation":5,"count":2,"chunks":1,"resources":["a"]}`, "/g/assignments/s/5-0 =?"),
			group + "  warn: a part of the shard s cannot be read: its resources are unknown\n" + election},
		{"an owner that may not be read", of("resource", shard(1, 5, "a", "b"), owns("a", 1), "/g/barriers/b denied"), group + election},
		{"an owner that cannot be read", of("resource", shard(1, 5, "a", "b"), owns("a", 1), "/g/barriers/b =?"), group + "  warn: the owner of b cannot be read\n" + election},
		{"a long instance", []string{
			`/s/web/i1 e1 ={"name":"web","id":"i1","registrationTimeUTC":1,"serviceType":"DYNAMIC"}`,
			`/s/web/i2 e2 ={"name":"web","payload":"` + strings.Repeat("x", keptRecord) + `"}`,
		}, "service /s/web: 2 instances, 1 not usable\n  warn: instance i2: its data is too long to be read\n"},
		{"an instance of no year", []string{
			`/s/web/i1 e1 ={"name":"web","id":"i1","registrationTimeUTC":1,"serviceType":"DYNAMIC"}`,
			`/s/web/i2 e2 ={"name":"web","id":"i2","registrationTimeUTC":253402300800000,"serviceType":"DYNAMIC"}`,
		}, "service /s/web: 2 instances, 1 not usable\n  warn: instance i2: its data is not an instance: registrationTimeUTC: 253402300800000 is not in the years 1 to 9998\n"},
		{"a worker of a job", []string{j[0], j[1], j[2], j[6],
			`/twister2/wc/1234567890ab4def/members/1 ={"id":1,"x":"` + strings.Repeat("x", keptRecord) + `"}`, "/twister2/wc/1234567890ab4def/members/2 denied", "/twister2/wc/1234567890ab4def/members/odd =x"},
			"job /twister2/wc: 1 of 4 running, 2 unknown\n  warn: the record of worker 1 is too long to be read\n  warn: the record of worker odd cannot be read\n"},
	})
}

// TestUnchangedShardsContinue while other members stop.
func TestUnchangedShardsContinue(t *testing.T) {
	s := look(Past{}, shared("global", "/g/resources/a", "/g/resources/b", shard(1, 5, "a"), shard(2, 6, "b"), `/g/status ={"generation":6,"state":"stop"}`)...).Things[0].Shares
	require.Equal(t, map[string]Cell{"a": Owns}, s.Members[0].Cells)
	require.Equal(t, map[string]Cell{"b": Comes}, s.Members[1].Cells)
	require.Equal(t, []ShareMove{{Resource: "b", To: "c2"}}, s.Moves)
}
