package ui

import (
	"regexp"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
)

// emptyNote is what a page or a list says that has nothing to show.
type emptyNote struct {
	// Things are the missing things, in plural, which would be below Where.
	Things, Where string
	// Try is a command that makes one.
	Try string
}

// pageEmpty is the note of a page without things.
func (d *drawing) pageEmpty() emptyNote {
	note := emptyNote{Things: strings.ToLower(d.page.name), Where: d.Root}
	if d.page.try != nil {
		note.Try = d.page.try(strings.TrimSuffix(d.Root, "/"))
	}
	return note
}

// tryAt makes commands for a path below the root of the page.
func tryAt(command, path string) func(root string) string {
	return func(root string) string { return strings.Replace(command, "PATH", shellWord(root+path), 1) }
}

// jobRoot is the flag for the root of jobs, unless it is the default.
func jobRoot(root string) string {
	if root == jobformat.DefaultRoot {
		return ""
	}
	return " --root " + shellWord(root)
}

// defaultServices is where zkr keeps services.
const defaultServices = "/services"

// registerCommand is a command that registers an instance of the service at a path.
func registerCommand(path string) string {
	i := strings.LastIndexByte(path, '/')
	out := "zkr service register " + shellWord(path[i+1:]) + " --id demo-1 --address 127.0.0.1 --port 8080"
	if base := path[:max(i, 0)]; base != defaultServices {
		out += " --base " + shellWord("/"+strings.TrimPrefix(base, "/"))
	}
	return out + " -- sleep 60"
}

// submitCommand is a command that submits a job below the root of the page.
func submitCommand(root string) string {
	return "zkr job submit demo --workers 2" + jobRoot(root+jobformat.DefaultRoot)
}

// createCommand is a command that creates a znode, and watchCommand one that shows when it
// is created.
func createCommand(path string) string { return "zkr keep " + shellWord(path) + " --persistent" }
func watchCommand(path string) string  { return "zkr watch " + shellWord(path) }

// maxCommand is how long a command on a page is at most, in characters.
const maxCommand = 500

// runnable is a command as a page shows it; "" if the page cannot show each character of it
// as it is, so that a copy would be another command.
func runnable(command string) string {
	if recognize.Text([]byte(command), maxCommand) != command {
		return ""
	}
	return command
}

// plainWord is a text that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:=,+%@][a-zA-Z0-9_./:=,+%@-]*$`) // read only

// shellWord quotes a text for a shell: a command with a foreign name is safe to copy.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
