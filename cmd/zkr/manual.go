package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const manualHelp = `Prints what the help of all commands says, as Markdown, or writes it into manual pages,
one for each command: man(1) finds them in a folder man1 of its path. They bear the
date of SOURCE_DATE_EPOCH, or of the commit that zkr is built from, or none.`

// manual is "zkr manual".
func (a *app) manual() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "manual",
		Short: "Print the manual of all commands as Markdown, or write manual pages",
		Long:  manualHelp,
		Example: "  zkr manual > zkr.md\n" +
			"  mkdir -p man1 && zkr manual --man man1 && man -l man1/zkr-lock.1",
		RunE: does(func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("man") {
				return a.print([]byte(manualOf(cmd.Root())))
			}
			if is, err := os.Stat(dir); err != nil || !is.IsDir() {
				return usage("--man is %q; it must be a folder that exists", dir)
			}
			n, err := a.writePages(cmd.Root(), dir)
			if err != nil {
				return err
			}
			if a.json() {
				return a.line(struct {
					Folder string `json:"folder"`
					Pages  int    `json:"pages"`
				}{dir, n})
			}
			return a.printf("%s written to %s\n", count(n, "manual page"), dir)
		}),
	}
	cmd.Flags().StringVar(&dir, "man", "", "write pages for man(1) into this `folder`")
	return cmd
}

// chapters are all commands that people use.
func chapters(root *cobra.Command) (out []*cobra.Command) {
	out = append(out, root)
	for _, sub := range root.Commands() {
		if sub.IsAvailableCommand() {
			out = append(out, chapters(sub)...)
		}
	}
	return out
}

// manualOf is one Markdown text for root and all that is below it. What is laid out
// in columns stays in columns.
func manualOf(root *cobra.Command) string {
	var out strings.Builder
	out.WriteString("# The commands of zkr\n\nWritten by `zkr manual` from the commands' own help.\n")
	block := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&out, "\n%s:\n\n```\n%s\n```\n", title, text)
		}
	}
	for _, cmd := range chapters(root) {
		p := pageOf(cmd)
		fmt.Fprintf(&out, "\n## %s\n\n%s\n", cmd.CommandPath(), p.sentence())
		block("Usage", strings.Join(p.usage, "\n"))
		block("What it does", fill(p.about, usualWidth))
		for _, part := range p.parts(usualWidth) {
			switch {
			case part.title == "Global flags": // they stand in the first chapter
			case part.title == "Exit codes" && cmd != root: // and so does what these mean
				fmt.Fprintf(&out, "\nExit codes: %s\n", p.codeList())
			default:
				block(part.title, part.text)
			}
		}
	}
	return out.String()
}

// codeList is the exit codes without what they mean.
func (p page) codeList() string {
	codes := make([]string, 0, len(p.codes))
	for _, e := range p.codes {
		codes = append(codes, e.String())
	}
	text := strings.Join(codes, ", ")
	if runsCommand(p.cmd) {
		text += "; otherwise that of CMD"
	}
	return text + "."
}

// writePages writes a manual page for each command.
func (a *app) writePages(root *cobra.Command, dir string) (n int, err error) {
	date, err := a.manualDate()
	if err != nil {
		return 0, err
	}
	for _, cmd := range chapters(root) {
		p := pageOf(cmd)
		if err := os.WriteFile(filepath.Join(dir, p.manName()+".1"), []byte(p.man(date)), 0o644); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// manualDate is a date that is the same whenever, and wherever, the same pages are
// written.
func (a *app) manualDate() (string, error) {
	const day = "2006-01-02"
	if epoch := a.env("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return "", usage("SOURCE_DATE_EPOCH is %q; it must be a number of seconds", epoch)
		}
		return time.Unix(seconds, 0).UTC().Format(day), nil
	}
	if at, err := time.Parse(time.RFC3339, setting("vcs.time")); err == nil {
		return at.UTC().Format(day), nil
	}
	return "", nil
}

// setting is what the build says of itself.
func setting(key string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}
