//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/countercmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"pgregory.net/rapid"
)

// helpOf is the output of a zkr that prints help.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	z := inside(t, command("x", args...)).ends(0)
	assert.Empty(t, z.err.String(), args)
	return z.out.String()
}

// TestHelpOfEveryCommandIsWhole: each help describes the command and its
// arguments, gives examples, and names flags and exit codes.
func TestHelpOfEveryCommandIsWhole(t *testing.T) {
	for _, cmd := range cli.Chapters((&app{}).root()) {
		name := cmd.CommandPath()
		p := cli.PageOf(cmd)
		assert.NotEmpty(t, cmd.Short, name)
		assert.NotEmpty(t, p.Usage, name)
		if cmd.Name() != "version" {
			assert.NotEmpty(t, cmd.Long, name)
		}
		for line := range strings.Lines(cli.OrElse(p.Examples, "there are none")) {
			assert.Regexp(t, `^  \S`, line, "an example of %s", name)
			assert.Contains(t, p.Examples, name, "an example of %s", name)
		}
		text := p.Help(cli.UsualWidth)
		for _, title := range []string{"\nUsage:\n  " + name, "\nExamples:\n  ", "\nFlags:\n  ", "\nExit codes:\n  0 "} {
			assert.Contains(t, text, title, name)
		}
		assert.Equal(t, cli.AnyBelow(cmd, cli.RunsCommand), strings.Contains(text, cli.ExitOfCommand), name)
		assert.NotContains(t, text, "demo-worker", name)
		assert.NotContains(t, text, supervise.SupervisorName, name)
	}
}

func TestHelpIsTheSameHoweverItIsAskedFor(t *testing.T) {
	t.Parallel()
	assert.Equal(t, helpOf(t, "barrier", "gate", "wait", "--help"), helpOf(t, "help", "barrier", "gate", "wait"))
	assert.Equal(t, helpOf(t, "lock", "-h"), helpOf(t, "help", "lock"))
	assert.Equal(t, helpOf(t, "help", "barrier"), helpOf(t, "barrier", "--help"))
	for _, line := range []string{"lock", "barrier", "barrier gate", "job", "rwlock write", "completion"} {
		words := strings.Fields(line)
		assert.Equal(t, helpOf(t, append(words, "--help")...), helpOf(t, append(words, "help")...), line)
	}
	assert.Equal(t, helpOf(t), helpOf(t, "help"))
	assert.Equal(t, helpOf(t, "--version"), helpOf(t, "version"))
	assert.JSONEq(t, helpOf(t, "version", "-o", "json"), helpOf(t, "--version", "-o", "json"))
	assert.Equal(t, helpOf(t, "version", "-o", "json"), helpOf(t, "-v", "--output=json"))
	assert.Contains(t, helpOf(t, "lock", "ls", "--help"), "\nGlobal flags:\n")
	assert.Contains(t, helpOf(t), "--servers host:port,...")
}

// TestHelpHasTheGlobalFlagsThatMeanSomething: a command that talks to no server
// has no flags about servers.
func TestHelpHasTheGlobalFlagsThatMeanSomething(t *testing.T) {
	for name, all := range map[string]bool{
		"lock": true, "job": true, "ui": true, "demo cluster": true, "serve": false, "manual": false, "completion": false,
		"completion bash": false, "version": false, "help": false,
	} {
		cmd, _, err := (&app{}).root().Find(strings.Fields(name))
		require.NoError(t, err)
		text := cli.PageOf(cmd).Help(cli.UsualWidth)
		assert.Equal(t, all, strings.Contains(text, "--servers host:port,..."), name)
		assert.Equal(t, all, strings.Contains(text, "--verbose"), name)
		assert.Contains(t, text, "--output format", name)
	}
}

// TestValuesOfFlagsAreCalledByNouns, which keep the column of the flags narrow.
func TestValuesOfFlagsAreCalledByNouns(t *testing.T) {
	for _, cmd := range cli.Chapters((&app{}).root()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			name := cmd.CommandPath() + " --" + f.Name
			assert.NotContains(t, value, "|", name)
			assert.LessOrEqual(t, len(value), len("user:password"), name)
			assert.NotContains(t, []string{"whose", "what", "how", "when", "who", "where"}, value, name)
			if f.Name == "layout" || f.Name == "mode" || f.Name == "type" {
				assert.Equal(t, f.Name, value, "%s: %s", name, usage)
			}
		})
	}
}

// TestCommandThatOnlyHasCommandsIsNoCommand: "zkr barrier gate && ./job" must not run
// the job.
func TestCommandThatOnlyHasCommandsIsNoCommand(t *testing.T) {
	t.Parallel()
	n := 0
	for _, cmd := range cli.Chapters((&app{}).root()) {
		if !cli.IsCommandGroup(cmd) || !cmd.HasParent() {
			continue
		}
		n++
		words := strings.Fields(cmd.CommandPath())[1:]
		z := inside(t, command("127.0.0.1:1", words...)).ends(exit.CodeUsage)
		assert.Empty(t, z.out.String(), cmd.CommandPath())
		first, rest, _ := strings.Cut(z.err.String(), "\n")
		for _, sub := range cli.PageOf(cmd).Commands {
			assert.Regexp(t, `^zkr: `+cmd.CommandPath()+` needs one of its commands: .*\b`+sub.Name()+`\b`, first)
		}
		assert.Equal(t, "zkr: \""+cmd.CommandPath()+" --help\" describes the commands\n", rest)
		z = inside(t, command("127.0.0.1:1", append(words, "-o", "json")...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), `{"error":"`+cmd.CommandPath()+` needs one of its commands: `)
		assert.Contains(t, z.err.String(), `"code":64,"hint":`)
	}
	assert.Greater(t, n, 7)
}

// TestMisspeltCommandsAndFlagsAreGuessed, wherever they stand.
func TestMisspeltCommandsAndFlagsAreGuessed(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"lokc":                              "zkr: zkr has no command \"lokc\"\nzkr: did you mean lock?\n",
		"lock lss /a":                       "zkr: zkr lock has no command \"lss\"\nzkr: did you mean ls?\n",
		"elect wach /a":                     "zkr: zkr elect has no command \"wach\"\nzkr: did you mean watch?\n",
		"rwlock raed /a -- true":            "zkr: zkr rwlock has no command \"raed\"\nzkr: did you mean read?\n",
		"lock /lss /a":                      "zkr: put -- between PATH and the command: zkr lock /lss -- /a ...\n",
		"lokc /a --timeout 3s -- true":      "zkr: zkr has no command \"lokc\"\nzkr: did you mean lock?\n",
		"demo clutser --nodes 3":            "zkr: zkr demo has no command \"clutser\"\nzkr: did you mean cluster?\n",
		"xyz":                               "zkr: zkr has no command \"xyz\"\nzkr: \"zkr --help\" lists the commands\n",
		"help lokc":                         "zkr: zkr has no command \"lokc\"\nzkr: did you mean lock?\n",
		"help barrier gate weit":            "zkr: zkr barrier gate has no command \"weit\"\nzkr: did you mean set or wait?\n",
		"help tree /a":                      "zkr: zkr tree has no command \"/a\"\n",
		"completion bsh":                    "zkr: zkr completion has no command \"bsh\"\nzkr: did you mean bash or ",
		"completion bash x":                 "\"x\" is one word too many: zkr completion bash\n",
		"version x":                         "\"x\" is one word too many: zkr version\n",
		"lock /a --timout 3s -- true":       "zkr: there is no flag --timout\nzkr: did you mean --timeout?\n",
		"tree / --conn 3s":                  "did you mean --connect-timeout?\n",
		"barrier ls /a --try":               "zkr: there is no flag --try\nzkr: \"zkr barrier ls --help\" lists the flags\n",
		"tree / --dpeth 3":                  "did you mean --depth?\n",
		"tree / -o":                         "zkr: -o needs a value: format\n",
		"tree / --depth":                    "zkr: --depth needs a value: a whole number\n",
		"tree / --servers":                  "zkr: --servers needs a value: host:port,...\n",
		"tree / ---depth":                   "zkr: ---depth is not a flag\n",
		"lock /a ls -l":                     "zkr: there is no flag -l\nzkr: flags of the command belong after --: zkr lock PATH [flags] -- CMD [ARGS...]\n",
		"tree / --bogus":                    "zkr: there is no flag --bogus\nzkr: \"zkr tree --help\" lists the flags\n",
		"tree / --depth many":               "zkr: --depth is \"many\"; it must be a whole number\n",
		"tree / --data=perhaps":             "zkr: --data is \"perhaps\"; it must be true or false\n",
		"lock /a --timeout 3 -- true":       "zkr: --timeout is \"3\"; it must be a time such as 500ms, 10s, 5m or 2h\n",
		"task worker /q --permanent x -- y": "zkr: --permanent is \"x\"; it must be whole numbers with commas between them\n",
		"serve --tick 0s":                   "--tick is 0s; it must be 1ms or more",
		"serve --listen 2181":               "--listen is \"2181\"; it must be host:port",
		"serve --listen 127.0.0.1:port":     "--listen is \"127.0.0.1:port\"; it must be host:port",
	} {
		z := inside(t, command("127.0.0.1:1", strings.Fields(line)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says, line)
		assert.Empty(t, z.out.String(), line)
	}
}

// TestHelpFitsTheTerminal: prose is wrapped again, with all its words in their order,
// and indented lines stay as they are.
func TestHelpFitsTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(10, 100).Draw(t, "width")
		lines := rapid.SliceOf(rapid.StringMatching(`( |  zkr )?([a-zü]{1,12} ?){0,8}`)).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		got := cli.FillText(text, width)
		require.Equal(t, strings.Fields(text), strings.Fields(got))
		require.Equal(t, got, cli.FillText(got, width), "it is wrapped already")
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, " ") {
				require.Contains(t, lines, line)
			} else if strings.Contains(line, " ") {
				require.LessOrEqual(t, len([]rune(line)), width)
			}
		}
	})
	assert.Equal(t, "one two\nthree\n\nfour\n  five  six seven\neight\n", cli.FillText("one\ntwo three\n\nfour\n  five  six seven\neight", 8))
	for _, cmd := range cli.Chapters((&app{}).root()) {
		for line := range strings.Lines(cli.FillText(cmd.Long, cli.UsualWidth)) {
			if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " ") {
				continue // a help text of cobra, and calls
			}
			assert.LessOrEqual(t, len([]rune(line)), cli.UsualWidth+1, cmd.CommandPath())
		}
	}
}

// recorder is a shell in which zkr records its arguments, each call in a file
// of its own, since the commands of a pipe run concurrently, and then succeeds
// or fails. Commands that are not installed succeed too, and files to be read
// exist.
const recorder = `zkr() { printf '%s\0' "$@" >"$calls/$BASHPID-$((++called))"; return $status; }
command_not_found_handle() { return 0; }
man() { :; }
touch letter cat.jpg
`

// calls are the calls of zkr in each of some lines of shell, for successes and
// failures.
func calls(t *testing.T, lines []string) [][][]string {
	t.Helper()
	out := make([][][]string, len(lines))
	for _, status := range []string{"0", "75"} {
		dir := t.TempDir()
		script := recorder
		for i, line := range lines {
			calls := filepath.Join(dir, strconv.Itoa(i))
			require.NoError(t, os.Mkdir(calls, 0o700))
			script += "( calls=" + calls + "\n" + line + "\nwait )\n"
		}
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "id=one", "status="+status)
		said, err := cmd.CombinedOutput()
		assert.NotContains(t, string(said), "syntax error")
		if err != nil {
			require.ErrorAs(t, err, new(*exec.ExitError))
		}
		for i := range lines {
			files, err := filepath.Glob(filepath.Join(dir, strconv.Itoa(i), "*"))
			require.NoError(t, err)
			for _, file := range files {
				call, err := os.ReadFile(file)
				require.NoError(t, err)
				words := strings.Split(strings.TrimSuffix(string(call), "\x00"), "\x00")
				if !slices.ContainsFunc(out[i], func(o []string) bool { return slices.Equal(o, words) }) {
					out[i] = append(out[i], words)
				}
			}
		}
	}
	return out
}

// examples are the lines of shell in the help of cmd; others reports an example
// for another shell.
func examples(cmd *cobra.Command) (lines []string, others bool) {
	for line := range strings.SplitSeq(cli.PageOf(cmd).Examples, "\n") {
		if strings.Contains(line, "| Out-String") { // PowerShell
			others = true
		} else {
			lines = append(lines, line)
		}
	}
	return lines, others
}

// TestExamplesOfTheHelpAreRight: a shell parses them, and zkr accepts all their
// arguments, up to the connection.
func TestExamplesOfTheHelpAreRight(t *testing.T) {
	t.Parallel()
	type run struct {
		line string
		z    *zkrProcess
	}
	var runs []run
	var all []string
	for _, cmd := range cli.Chapters((&app{}).root()) {
		lines, _ := examples(cmd)
		all = append(all, lines...)
	}
	recorded := calls(t, all)
	for _, cmd := range cli.Chapters((&app{}).root()) {
		lines, called := examples(cmd)
		for _, line := range lines {
			next := recorded[0]
			recorded = recorded[1:]
			for _, words := range next {
				root := (&app{}).root()
				found, rest, err := root.Find(countercmd.WithNumbers(root, words))
				require.NoError(t, err, line)
				called = called || found.CommandPath() == cmd.CommandPath() || cli.IsCommandGroup(cmd) && strings.HasPrefix(found.CommandPath(), cmd.CommandPath())
				// Some would serve, or play, indefinitely, or read a file that is not there.
				if !cli.TalksToServers(found) || slices.Contains([]string{"cluster", "exporter", "ui"}, found.Name()) {
					require.NoError(t, found.ParseFlags(rest), line)
					require.NoError(t, found.ValidateArgs(found.Flags().Args()), line)
					continue
				}
				z := command("127.0.0.1:1", words...)
				z.Env = append(z.Env, "ZKR_CONNECT_TIMEOUT=50ms")
				runs = append(runs, run{line, start(t, z)})
				if n := len(runs); n > 4 {
					runs[n-5].z.wait()
				}
			}
		}
		assert.True(t, called, "no example of %s calls it", cmd.CommandPath())
	}
	require.Greater(t, len(runs), 60)
	for _, r := range runs {
		if r.z.wait().code == exit.CodeNotFound {
			continue // ./backup is not there; the arguments were taken
		}
		assert.Equal(t, exit.CodeUnavailable, r.z.code, "%s\n%s%s", r.line, r.z.out, r.z.err)
	}
}

// TestEveryCommandKnowsItsArguments by the words of its usage.
func TestEveryCommandKnowsItsArguments(t *testing.T) {
	for use, want := range map[string][]string{
		"x": nil, "ls [flags]": nil, "ls PATH": {"PATH"}, "ls [SERVICE]": {"SERVICE"}, "await PATH -n N": {"PATH"},
		"submit NAME --workers N": {"NAME"}, "join PATH ID [flags] -- CMD [ARGS...]": {"PATH", "ID"}, "add PATH [N]": {"PATH", "N"}, "cancel QUEUE ID...": {"QUEUE", "ID..."},
	} {
		assert.Equal(t, want, cli.ArgumentNames(&cobra.Command{Use: use}), use)
	}
}
