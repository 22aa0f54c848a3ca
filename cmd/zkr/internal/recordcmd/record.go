package recordcmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/session"
)

const recordHelp = `Follows the znodes at and below --root (default /), and records them and their changes
in the folder DIR, for "zkr history --logs DIR": who held, awaited or led, where the
files of the servers cannot be read. It never writes to ZooKeeper, and continues over lost
connections and sessions. INT (Ctrl-C) and TERM end it with the exit code 0.

DIR has compressed files, each of which begins with all znodes and can be read by itself.
A file of --max-file is followed by the next one, and the oldest files are removed so
that all stay below --max-total. If the znodes are many, a file may have twice their
size. A recorder that is killed loses at most the last second, and one that is started
again continues in the same folder, with a gap. Two recorders cannot write to one
folder. "zcat FILE | jq" shows the records.

The recording has a gap where something is missing, with the two moments and the reason: the
connection was lost, the recorder was paused, the disk was full, its file or folder was
deleted, the servers were restored from a backup or recreated. While the disk is full, the
recorder tries again every 10 seconds. A deleted folder is made again, but not the one that
it was in. If this machine's clock is set back, the times of the recording run at half speed
until the clock has caught up, and the recording says so.

A client does not see everything, and the recording says so. States that follow each
other faster than they can be read are missing, and so is a znode that is created and
deleted in that time. The session that deleted a znode is unknown: zkr history shows "gone",
or "gone with its session" if all ephemeral znodes of a session, two at least, went at the same
moment, or "broken by" if "zkr lock break" or "zkr elect depose" has left its record, which is
beside the path of the lock and must be below --root, too. Deletions have the time of this
machine's clock. After a lost connection, the recording has the differences, with the two
moments between which they happened.

Recordings have the data of znodes, which may be secret: the files can be read by their
owner alone. --max-data limits how much of each znode's data is kept; of data that no
recipe has written, at most 64 KiB of JSON and 4 KiB of anything else are kept. Znodes
that the credentials may not read are left out. All znodes are in memory: path, data,
and some 600 bytes for each. Changes that wait for a slow disk take 64 MiB at most; if
more wait, the recording has a gap.
`

// settings are the arguments of "zkr record".
type settings struct {
	dir, root         string
	maxFile, maxTotal int64
	maxData           int
}

// record is "zkr record".
func (a *app) record() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "record DIR",
		Short:       "Record changes of the znodes, for zkr history without the files of the servers",
		Long:        recordHelp,
		Example: "  zkr record /var/lib/zkr-recording\n" +
			"  zkr record ./recording --root /locks --max-total 100MiB\n" +
			"  zkr history /locks/report --logs ./recording --at 03:12",
		Args: cli.Arguments("folder", "DIR"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			s.dir = args[0]
			if err := s.check(); err != nil {
				return err
			}
			return a.Follow(cmd.Context(), func(ctx context.Context, client *session.Client) error { return a.run(ctx, client, s) })
		}),
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	f := cmd.Flags()
	f.StringVar(&s.root, "root", "/", "`path` of the root of the recorded tree")
	f.Var(newSize(&s.maxFile, recording.DefaultMaxFile), "max-file", "`size` of a file, as in 16MiB")
	f.Var(newSize(&s.maxTotal, recording.DefaultMaxTotal), "max-total", "`size` of all files; the oldest are removed")
	f.IntVar(&s.maxData, "max-data", recorder.DefaultMaxData, "how many `bytes` of each znode's data are kept")
	return cmd
}

func (s settings) check() error {
	if err := cli.CheckPath(s.root); err != nil {
		return err
	}
	if s.maxData < 1 || s.maxData > 16<<20 {
		return exit.Usage("--max-data is %d; it must be 1 to %d", s.maxData, 16<<20)
	}
	if s.maxFile < 64<<10 {
		return exit.Usage("--max-file is %d bytes; it must be 64KiB or more", s.maxFile)
	}
	if s.maxTotal < 2*s.maxFile {
		return exit.Usage("--max-total is %d bytes; it must be at least twice --max-file, which is %d", s.maxTotal, s.maxFile)
	}
	return nil
}

// run records until ctx ends. The folder is opened when a server has answered.
func (a *app) run(ctx context.Context, client *session.Client, s settings) error {
	w, err := recording.NewWriter(s.dir, s.root, &recording.Options{MaxFile: s.maxFile, MaxTotal: s.maxTotal})
	if err != nil {
		return explain(err)
	}
	line := a.StatusLine()
	defer line.Clear()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := recorder.New(client, s.root, w, &recorder.Options{
		MaxData: s.maxData,
		Notify: func(e recorder.Event) {
			if err := line.Aside(func() error { return a.print(e) }); err != nil {
				cancel(err)
			}
		},
		Progress: func(e recorder.Event) { line.Set(progressText(e)) },
	})
	err, why := r.Run(ctx), "the recorder failed"
	if ctx.Err() != nil {
		why = "the recorder was stopped"
	}
	if failed := w.Close(why); failed != nil && ctx.Err() != nil {
		return explain(failed)
	}
	return explain(err)
}

// print shows an event.
func (a *app) print(e recorder.Event) error {
	if a.JSON() {
		return a.PrintJSON(e)
	}
	switch {
	case e.Kind == "lost":
		return a.Printf("%s  the connection is lost; nothing is recorded until it is back\n", cli.Timestamp(e.At))
	case e.Kind == "full":
		return a.Printf("%s  nothing is recorded until there is room: %s\n", cli.Timestamp(e.At), e.Why)
	case e.Kind == "clock":
		return a.Printf("%s  %s\n", cli.Timestamp(e.At), e.Why)
	case e.Kind == "stopped":
		return a.Printf("%s  stopped after %s\n", cli.Timestamp(e.At), cli.Count(e.Changes, "change"))
	case e.After.IsZero():
		return a.Printf("%s  recording %s\n", cli.Timestamp(e.At), cli.Count(e.Znodes, "znode"))
	}
	return a.Printf("%s  recording %s; not recorded since %s: %s\n", cli.Timestamp(e.At), cli.Count(e.Znodes, "znode"), cli.Timestamp(e.After), e.Why)
}

// progressText is the last line of the terminal.
func progressText(e recorder.Event) string {
	return fmt.Sprintf("zkr: %s, %s, %s with %d KiB", cli.Count(e.Znodes, "znode"), cli.Count(e.Changes, "change"), cli.Count(e.Files, "file"), e.Bytes>>10)
}

// explain adds advice to errors of the writer.
func explain(err error) error {
	var hint string
	switch {
	case errors.Is(err, recording.ErrLocked):
		hint = "end the other zkr record, or name another folder"
	case errors.Is(err, recording.ErrOtherRoot):
		hint = "name another folder for another --root"
	case errors.Is(err, recording.ErrTooSmall):
		hint = "--max-total must be larger, or --root a part of the tree"
	default:
		return err
	}
	return &exit.Failure{Code: exit.CodeFailed, Err: err, Hint: hint}
}
