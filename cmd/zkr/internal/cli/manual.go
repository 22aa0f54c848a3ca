package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

const manualHelp = `Prints the help of all commands as Markdown, or writes a manual page for each command.
man(1) finds manual pages in a folder man1 of its path. The pages bear the date of
SOURCE_DATE_EPOCH, or of the commit that zkr is built from, or no date.`

// Manual is "zkr manual".
func (a *App) Manual() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "manual",
		Short: "Print the manual of all commands as Markdown, or write manual pages",
		Long:  manualHelp,
		Example: "  zkr manual > zkr.md\n" +
			"  mkdir -p man1 && zkr manual --man man1 && man -l man1/zkr-lock.1",
		RunE: RunE(func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("man") {
				return a.Print([]byte(manualOf(cmd.Root())))
			}
			if is, err := os.Stat(dir); err != nil || !is.IsDir() {
				return exit.Usage("--man is %q; it must be a folder that exists", dir)
			}
			n, err := a.writePages(cmd.Root(), dir)
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(struct {
					Folder string `json:"folder"`
					Pages  int    `json:"pages"`
				}{dir, n})
			}
			return a.Printf("%s written to %s\n", Count(n, "manual page"), dir)
		}),
	}
	cmd.Flags().StringVar(&dir, "man", "", "write pages for man(1) into this `folder`")
	return cmd
}

// Chapters are all commands that people use.
func Chapters(root *cobra.Command) (out []*cobra.Command) {
	out = append(out, root)
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, Chapters(sub)...)
		}
	}
	return out
}

// manualOf is one Markdown text for root and all commands below it. Text that is laid
// out in columns stays in columns.
func manualOf(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("# The commands of zkr\n\nWritten by `zkr manual` from the commands' own help.\n")
	block := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&out, "\n%s:\n\n```\n%s\n```\n", title, text)
		}
	}
	for _, cmd := range Chapters(root) {
		p := PageOf(cmd)
		fmt.Fprintf(&out, "\n## %s\n\n%s\n", cmd.CommandPath(), p.sentence())
		block("Usage", strings.Join(p.Usage, "\n"))
		block("What it does", FillText(p.about, UsualWidth))
		for _, part := range p.parts(UsualWidth) {
			switch {
			case part.title == "Global flags": // they stand in the first chapter
			case part.title == "Exit codes" && cmd != root: // the first chapter explains the codes
				fmt.Fprintf(&out, "\nExit codes: %s\n", p.CodeList())
			default:
				block(part.title, part.text)
			}
		}
	}
	return out.String()
}

// CodeList is the exit codes without their meanings.
func (p commandPage) CodeList() string {
	codes := make([]string, 0, len(p.codes))
	for _, e := range p.codes {
		codes = append(codes, e.String())
	}
	text := strings.Join(codes, ", ")
	if RunsCommand(p.cmd) {
		text += "; otherwise that of CMD"
	}
	return text + "."
}

// writePages writes a manual page for each command.
func (a *App) writePages(root *cobra.Command, dir string) (n int, err error) {
	date, err := a.manualDate()
	if err != nil {
		return 0, err
	}
	for _, cmd := range Chapters(root) {
		p := PageOf(cmd)
		if err := os.WriteFile(filepath.Join(dir, p.ManName()+".1"), []byte(p.man(date)), 0o644); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// manualDate is a date that is the same whenever, and wherever, the same pages are
// written.
func (a *App) manualDate() (string, error) {
	const day = "2006-01-02"
	if epoch := a.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", exit.Usage("SOURCE_DATE_EPOCH is %q; it must be a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC().Format(day), nil
	}
	if at, err := time.Parse(time.RFC3339, Setting("vcs.time")); err == nil {
		return at.UTC().Format(day), nil
	}
	return "", nil
}

// Setting is a setting of the build.
func Setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
