//go:build unix

package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestWrongArgumentsOfAllCommandsAreRefused before the first request, by an
// error that names the argument.
func TestWrongArgumentsOfAllCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"doctor a":                                  "begins with /",
		"doctor --no-write --failover":              "exclude each other",
		"doctor --admin-port 65536":                 "from 0 to 65535",
		"status --admin-port -1":                    "from 0 to 65535",
		"ui --admin-port -1":                        "from 0 to 65535",
		"exporter --admin-port -1":                  "from 0 to 65535",
		"rwlock nonsense":                           `zkr rwlock has no command "nonsense"`,
		"rwlock reed /a -- true":                    "did you mean read?",
		"rwlock read":                               "which lock, and which command? zkr rwlock read PATH -- CMD",
		"rwlock read /a":                            "which command? zkr rwlock read /a -- CMD",
		"rwlock write a -- true":                    "begins with /",
		"rwlock write /a true":                      "put -- between PATH and the command",
		"rwlock write /a --grace -1s -- true":       "--grace is -1s",
		"rwlock write /a --layout curious -- true":  `--layout is "curious"`,
		"rwlock ls":                                 "which lock? zkr rwlock ls PATH",
		"rwlock ls /a/":                             "ends with /",
		"elect":                                     "which election, and which command?",
		"elect /a":                                  "which command? zkr elect /a -- CMD",
		"elect /a --timeout -1s -- true":            "--timeout is -1s",
		"elect /a --layout x -- true":               `--layout is "x"`,
		"elect a -- true":                           "begins with /",
		"elect ls /a /b":                            `"/b" is one word too many: zkr elect ls PATH`,
		"elect watch":                               "which election?",
		"barrier meet":                              `zkr barrier has no command "meet"`,
		"barrier await":                             "which barrier? zkr barrier await PATH",
		"barrier await /a":                          "-n is 0",
		"barrier await /a -n -1":                    "-n is -1",
		"barrier await /a -n two":                   `-n is "two"; it must be a whole number`,
		"barrier await /a -n 2 --timeout -1s":       "--timeout is -1s",
		"barrier enter /a -- true":                  "-n is 0",
		"barrier enter /a -n 2 --grace -1s -- true": "--grace is -1s",
		"barrier enter a -n 2 -- true":              "begins with /",
		"barrier gate open /a":                      `zkr barrier gate has no command "open"`,
		"barrier gate set":                          "which gate?",
		"barrier gate wait /a --timeout -1s":        "--timeout is -1s",
		"barrier ls a":                              "begins with /",
		"counter sub /c":                            `zkr counter has no command "sub"`,
		"counter get":                               "which counter?",
		"counter get c":                             "begins with /",
		"counter get /c 1":                          `"1" is one word too many`,
		"counter get /c --format hex":               `--format is "hex"`,
		"counter add /c five":                       `N is "five"; it must be a whole number`,
		"counter add /c 1 2":                        `"2" is one word too many`,
		"counter set /c":                            "N is missing: zkr counter set PATH N",
		"counter set /c 9223372036854775808":        "N is 9223372036854775808; it must fit into 64 bits",
		"counter cas /c -1":                         "NEW is missing",
		"counter next /c -n 0":                      "-n is 0",
		"latch set /l":                              "N is missing: zkr latch set PATH N",
		"latch set /l 0":                            "N is 0; it must be 1 to 2147483647",
		"latch set /l 2147483648":                   "N is 2147483648; it must be 1 to",
		"latch await /l --timeout -1s":              "--timeout is -1s",
		"counter watch /c --format hex":             `--format is "hex"`,
		"value sub /v":                              `zkr value has no command "sub"`,
		"value get":                                 "which value?",
		"value get v":                               "begins with /",
		"value set /v":                              "DATA is missing: zkr value set PATH DATA",
		"value set /v a b":                          `"b" is one word too many`,
		"value set /v a --if-zxid x":                `--if-zxid is "x"; it must be a whole number`,
		"value set /v a --if-zxid -1":               `--if-zxid is "-1"`,
		"value cas /v a":                            "NEW is missing",
		"value cas /v - -":                          "stdin (-) is given twice",
		"value watch v":                             "begins with /",
		"watch":                                     "which znode?",
		"watch a":                                   "begins with /",
		"watch /a --tree --children":                "exclude each other",
		"rm":                                        "which znode?",
		"rm a":                                      "begins with /",
		"rm /a /b":                                  "one word too many",
		"rm -r /a --most 0":                         "--most is 0",
		"status a":                                  "begins with /",
		"status /a /b":                              "one word too many",
		"tree /a --depth -1":                        "--depth is -1",
		"tree /a //":                                "one word too many",
		"members ls":                                "which group? zkr members ls PATH",
		"members ls /g --layout x":                  `--layout is "x"`,
		"members join /g":                           "ID is missing: zkr members join PATH ID -- CMD",
		"members join /g a":                         "which command? zkr members join /g a -- CMD",
		"members join /g -- true":                   "ID is missing",
		"members join /g a b -- true":               "2 words, then --, then the command; there are 3 words",
		"members join /g a/b -- true":               `ID is "a/b"; it must be a name that a znode can have`,
		"members join g a -- true":                  "begins with /",
		"members join /g a --layout x -- true":      `--layout is "x"`,
		"members join /g a --timeout -1s -- true":   "--timeout is -1s",
		"keep":                          "which znode? zkr keep PATH [DATA] [-- CMD [ARGS...]]",
		"keep a":                        "begins with /",
		"keep /":                        "PATH is /, which always exists",
		"keep /a b c":                   `"c" is one word too many: zkr keep PATH [DATA]`,
		"keep /a b --":                  "which command?",
		"keep /a b c -- true":           `"c" is one word too many`,
		"keep /a --ttl 1m --persistent": "--ephemeral, --persistent, --container and --ttl exclude each other",
		"keep /a --ephemeral --container -- true":           "exclude each other",
		"keep /a --container --sequential":                  "servers have no such znodes",
		"keep /a --ttl 999ms":                               "--ttl is 999ms; it must be 1s or more",
		"keep /a --ttl 0":                                   "--ttl is 0s; it must be 1s or more",
		"keep /a --grace 1s":                                "--grace has no meaning without a command",
		"keep /a --timeout -1s":                             "--timeout is -1s",
		"fence epoch":                                       "which epoch? zkr fence epoch PATH",
		"fence epoch a":                                     "begins with /",
		"fence advance":                                     "which epoch? zkr fence advance PATH",
		"fence advance /a":                                  "--yes is missing",
		"fence advance / --yes":                             "PATH is /; the epoch's znode must be below the root",
		"fence advance /a --above -1":                       "--above is -1; it must be 0 to 9223372036854775806",
		"fence advance /a --above x":                        `--above is "x"`,
		"fence advance /a --above 9223372036854775807":      "--above is 9223372036854775807; it must be 0 to",
		"members join /g a --layout kazoo --data x -- true": "--data has no meaning",
		"service list":                                      `zkr service has no command "list"`,
		"service ls a/b":                                    `SERVICE is "a/b"; it must be a name`,
		"service ls a b":                                    `"b" is one word too many`,
		"service ls --base services":                        "begins with /",
		"service ls a --base /s/":                           "ends with /",
		"service watch":                                     "which service?",
		"service watch ..":                                  "it must be a name that a znode can have",
		"service register web -- true":                      "--id is missing",
		"service register web --id a":                       "which command?",
		"service register web --id a/b -- true":             `--id is "a/b"; it must be a name`,
		"service register web --id a --port -1 -- true":     "from 0 (none) to 65535",
		"service register web --id a --payload { -- x":      "--payload is not JSON: {",
		"service register web --id a --type x -- true":      `--type is "x"`,
		"service register a/b --id a -- true":               "it must be a name that a znode can have",
		"service register w --id a --timeout -1s -- run":    "--timeout is -1s",
		"job start":                                         `zkr job has no command "start"`,
		"job submit":                                        "which job? zkr job submit NAME",
		"job submit a":                                      "--workers is 0",
		"job submit a --workers -1":                         "--workers is -1",
		"job submit a --workers x":                          `--workers is "x"; it must be a whole number`,
		"job submit a b --workers 1":                        `"b" is one word too many`,
		"job submit \xff --workers 1":                       `NAME is "\xff"`,
		"job submit a --workers 1 --meta x":                 `--meta is "x"; it must be key=value`,
		"job submit a --workers 1 --meta =x":                `--meta is "=x"`,
		"job submit a --workers 1 --meta x=1 --meta x=2":    "--meta x is given twice",
		"job submit a --workers 1 --abandoned 0s":           "--abandoned is 0s",
		"job submit a --workers 1 --root jobs":              "begins with /",
		"job ls a":                                          `"a" is one word too many: zkr job ls`,
		"job ls --root /":                                   "--root is /",
		"job workers":                                       "which job?",
		"job wait a --for ever":                             `--for is "ever"`,
		"job wait a --timeout -1s":                          "--timeout is -1s",
		"job kill":                                          "which job? zkr job kill NAME",
		"job rm a b":                                        `"b" is one word too many`,
		"job join a":                                        "which command? zkr job join a -- CMD",
		"job join -- true":                                  "which job, and which command?",
		"job join a --timeout -1s -- true":                  "--timeout is -1s",
		"job join a --kv x -- true":                         `--kv is "x"`,
		"job join a --identity \xff -- true":                `"\xff" is not text`,
		"job join a --address= -- true":                     "--address is empty",
		"task start":                                        `zkr task has no command "start"`,
		"task submit":                                       "which queue? zkr task submit QUEUE",
		"task submit q":                                     "begins with /",
		"task submit /":                                     "QUEUE is /",
		"task submit /q r":                                  `"r" is one word too many`,
		"task submit /q --id=":                              `--id is ""`,
		"task submit /q --id \xff":                          `--id is "\xff"`,
		"task submit /q --delay -1s":                        "--delay is -1s",
		"task submit /q --backoff 0s":                       "--backoff is 0s",
		"task submit /q --retention 0s":                     "--retention is 0s",
		"task submit /q --deadline 0s":                      "--deadline is 0s",
		"task submit /q --deadline soon":                    `--deadline is "soon"`,
		"task submit /q --retries -1":                       "--retries is -1",
		"task submit /q --label=":                           `--label is ""`,
		"task submit /q --collect":                          "--collect needs --wait",
		"task submit /q --attached":                         "--attached needs --wait",
		"task submit /q --timeout 1s":                       "--timeout needs --wait or --wait-for-room",
		"task submit /q --dead-retention 0s":                "--dead-retention is 0s",
		"task submit /q --unique=":                          `--unique is ""`,
		"task submit /q --every 1h":                         "--every needs --unique",
		"task submit /q --unique k --every 1ms":             "--every is 1ms; it must be 1s or more",
		"task submit /q --wait --timeout -1s":               "--timeout is -1s",
		"task wait /q":                                      "ID is missing: zkr task wait QUEUE ID",
		"task wait /q a --timeout -1s":                      "--timeout is -1s",
		"task ls /q --state over":                           `--state is "over"`,
		"task show /q":                                      "ID is missing",
		"task cancel /q":                                    "ID is missing",
		"task cancel /q - -":                                "ID - is given twice",
		"task cancel /q a --by ann":                         "--by needs --reason",
		"task requeue q a":                                  "begins with /",
		"task schedule start":                               `zkr task schedule has no command "start"`,
		"task schedule set /q":                              "NAME is missing: zkr task schedule set QUEUE NAME",
		"task schedule set / x":                             "QUEUE is /",
		"task schedule set /q x":                            "--every is missing",
		"task schedule set /q x --every 1ms":                "--every is 1ms; it must be 1s or more",
		"task schedule set /q \xff --every 1s":              `NAME is "\xff"`,
		"task schedule set /q x --every 1s --start 3am":     `--start is "3am"`,
		"task schedule set /q x --every 1s --delay -1s":     "--delay is -1s",
		"task schedule ls":                                  "which queue?",
		"task schedule rm /q":                               "NAME is missing",
		"task pause /q":                                     "--reason is missing",
		"task pause / --reason x":                           "QUEUE is /",
		"task pause /q --reason \xff":                       `--reason is "\xff"`,
		"task pause /q --reason x --by \xff":                `--by is "\xff"`,
		"task resume":                                       "which queue?",
		"task stats":                                        "which queue?",
		"task stats /q --interval 1s":                       "--interval needs --watch",
		"task stats /q --watch --interval 0s":               "--interval is 0s",
		"task master":                                       "which queue? zkr task master QUEUE",
		"task master /q --id \xff":                          `--id is "\xff"`,
		"task master /q --max-tasks 0":                      "--max-tasks is 0",
		"task worker /q":                                    "which command? zkr task worker /q -- CMD",
		"task worker -- true":                               "which queue, and which command?",
		"task worker /q --name \xff -- true":                `--name is "\xff"`,
		"task worker /q --concurrency 0 -- true":            "--concurrency is 0",
		"task worker /q --prefetch -1 -- true":              "--prefetch is -1",
		"task worker /q --permanent 0 -- true":              "--permanent is 0",
		"task worker /q --label= -- true":                   `--label is ""`,
		"task worker /q --grace -1s -- true":                "--grace is -1s",
		"rebalance list":                                    `zkr rebalance has no command "list"`,
		"rebalance add":                                     "which group? zkr rebalance add GROUP RESOURCE",
		"rebalance add /g":                                  "RESOURCE is missing",
		"rebalance add g a":                                 "begins with /",
		"rebalance add / a":                                 "GROUP is /",
		"rebalance add /g a/b":                              `RESOURCE is "a/b"; it must be a name`,
		"rebalance add /g a --mode both":                    `--mode is "both"`,
		"rebalance add /g - -":                              "RESOURCE - is given twice",
		"rebalance add /g " + strings.Repeat("x", 1025):     `..., of 1025 bytes; it must have 1024 at most`,
		"rebalance remove /g ..":                            `RESOURCE is ".."; it must be a name`,
		"rebalance ls":                                      "which group?",
		"rebalance ls /g a":                                 `"a" is one word too many`,
		"rebalance status g --watch":                        "begins with /",
		"rebalance pause /":                                 "GROUP is /",
		"rebalance pause /g --by \xff":                      "--by is",
		"rebalance resume":                                  "which group?",
		"rebalance join /g":                                 "which command? zkr rebalance join /g -- CMD",
		"rebalance join -- true":                            "which group, and which command?",
		"rebalance join g -- true":                          "begins with /",
		"rebalance join /g --mode x -- true":                `--mode is "x"`,
		"rebalance join /g --grace -1s -- true":             "--grace is -1s",
		"rebalance join /g --retry -1s -- true":             "--retry is -1s",
		"rebalance join /g --max-moves -1 -- true":          "--max-moves is -1",
		"rebalance join /g --weight 0 -- true":              "--weight is 0",
		"rebalance join /g --instance a/b -- true":          `--instance is "a/b"`,
		"rebalance add /g " + strings.Repeat("x", 1025):     `..., of 1025 bytes; it must have 1024 at most`,
		"rebalance join /g --instance " + strings.Repeat("x", 1025) + " -- true": `..., of 1025 bytes; it must have 1024 at most`,
		"rebalance join /g --instance= -- true":                                  `--instance is ""`,
		"rebalance join /g --instance _a -- true":                                "must not begin with an underscore",
		"counter cas /c 1 -99999999999999999999":                                 "NEW is -99999999999999999999; it must fit",
		"service ls --base services/":                                            "--base: invalid path",
		"rebalance join /g --zone \xff -- true":                                  "--zone is",
		"rebalance join /g --assignor best -- true":                              "--assignor: ",
		"rebalance join /g --subscribe [ -- true":                                `--subscribe is "["`,
	} {
		z := inside(t, command("127.0.0.1:1", strings.Fields(line)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says, line)
		assert.Contains(t, z.err.String(), "zkr: ", line)
		assert.Empty(t, z.out.String(), line)
	}
}

// everyCommand is a correct command line for each command that talks to a
// server.
//
// read only
var everyCommand = []string{
	"doctor", "doctor /a --no-write", "doctor --failover",
	"lock /a -- true", "lock ls", "lock ls /a", "lock revoke /a", "lock break /a --reason r --yes", "rwlock read /a -- true", "rwlock write /a -- true", "rwlock ls /a", "rwlock revoke /a", "rwlock break /a --reason r --yes",
	"elect /a -- true", "elect /a --again -- true", "elect ls /a", "elect watch /a", "elect depose /a --reason r --yes",
	"barrier await /a -n 1", "barrier enter /a -n 1 -- true", "barrier ls /a",
	"barrier gate set /a", "barrier gate remove /a", "barrier gate wait /a", "barrier gate show /a",
	"counter get /a", "counter add /a", "counter set /a 1", "counter cas /a 1 2", "counter next /a", "counter watch /a",
	"fence epoch /a", "fence advance /a --yes",
	"latch set /a 1", "latch down /a", "latch get /a", "latch await /a",
	"record no-folder", "value get /a", "value set /a x", "value set /a x --if-zxid 5", "value cas /a x y", "value watch /a",
	"rm /a", "rm -r /a", "status", "status /a", "status --watch", "watch /a", "watch /a --tree", "watch /a --children", "tree", "tree /a", "ui --listen 127.0.0.1:0", "ui --listen 127.0.0.1:0 --trust-header X-User --host a --actions", "ui --listen 127.0.0.1:0 --allow-remote --no-auth",
	"keep /a", "keep /a b --ttl 1m", "keep /a -- true",
	"members ls /a", "members watch /a", "members join /a b -- true",
	"service ls", "service ls a", "service watch a", "service register a --id b -- true",
	"job submit a --workers 1", "job ls", "job workers a", "job workers a --watch", "job wait a", "job wait a --for finished",
	"job kill a", "job rm a", "job join a -- true",
	"task submit /a", "task submit /a --wait", "task wait /a b", "task ls /a", "task show /a b", "task cancel /a b", "task cancel /a b --reason c", "task requeue /a b",
	"task rm /a b", "task purge /a --state done",
	"task schedule set /a b --every 1h", "task schedule ls /a", "task schedule rm /a b",
	"task pause /a --reason x", "task resume /a",
	"task stats /a", "task stats /a --watch", "task master /a", "task worker /a -- true",
	"rebalance add /g a", "rebalance remove /g a", "rebalance ls /g", "rebalance status /g", "rebalance status /g --watch", "rebalance pause /g", "rebalance resume /g",
	"rebalance join /g -- true",
}

// TestServerThatIsAwayIsSaid by every command, with the same code and advice.
func TestServerThatIsAwayIsSaid(t *testing.T) {
	t.Parallel()
	all := make([]*zkrProcess, 0, len(everyCommand))
	for i, line := range everyCommand {
		args := append([]string{"--connect-timeout", "50ms"}, strings.Fields(line)...)
		all = append(all, start(t, command("127.0.0.1:1", args...)))
		if i >= 4 {
			all[i-4].wait()
		}
	}
	for i, z := range all {
		z.ends(exit.CodeUnavailable)
		assert.Contains(t, z.err.String(), "tried 127.0.0.1:1 for 50ms", everyCommand[i])
		assert.Empty(t, z.out.String(), everyCommand[i])
	}
}

// TestEveryCommandIsListedHere: all commands that run, except commands about
// this program itself, are among the lines above.
func TestEveryCommandIsListedHere(t *testing.T) {
	tried := map[string]bool{}
	for _, line := range everyCommand {
		root := (&app{}).root()
		cmd, _, err := root.Find(strings.Fields(line))
		require.NoError(t, err)
		tried[cmd.CommandPath()] = true
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
			switch {
			case sub.Name() == "help", sub.Name() == "completion", sub.Name() == "demo", sub.Hidden,
				sub.Name() == "serve", sub.Name() == "version", sub.Name() == "history":
			case strings.Contains(sub.Use, " "): // the command has arguments
				assert.True(t, tried[sub.CommandPath()], sub.CommandPath())
			}
		}
	}
	look((&app{}).root())
}
