package historycmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/historyargs"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
)

const historyHelp = `Shows who held, awaited, led or belonged to what is at and below PATH (default /), from
the transaction logs and snapshots of ZooKeeper's own servers, or from a recording: when each client came, how
long it waited, what token it got, how long it held, and how that ended. No server is
asked: the files may be those of a running server, or a copy. Files of ZooKeeper 3.5 to
3.9 can be read.

--logs is the dataDir of a server; DIR,DIR if the server has a dataLogDir, too. With
several servers, --logs is given for each, best as NAME=DIR; their transactions are
merged, and disagreements between servers are shown.

DIR may also be a recording of "zkr record". A recording has what a client saw: it does not
tell which session removed a znode, so the end of a hold is "gone", or "gone with its session"
if all znodes of the session went at once. If an operator broke the hold, and the record of
that is in the recording, the end is "broken by". Ends have the time of the recorder's clock.
A hold that ended in a gap of the recording, as in an outage, has the two moments between
which it ended; --at shows it as "perhaps holds" between them. The gaps within the time that
is shown are listed at the end, with their reasons.

--at shows a moment alone, --from and --to what lasted within a time. A moment is
"2026-11-26 03:12:00", 2026-11-26T03:12:00Z, 03:12 (the last one before now), or 90m
(ago); without a zone it is local time. Times are those of the leader's clock.

--suspicious shows what an engineer should look at instead: holds that ended because the
session expired, and clients that could have believed in such a hold while another client
had it, because they came back later; clients that lose one session after the other;
znodes that another session removed, holds that an operator broke, tokens that went back,
leaders that change often, herds of clients that all try to create one znode when it has
gone, defects, and files that are damaged or disagree. The exit code is then 1 if
something was found. A hint, which does not count, names the hour in which clients waited
longest.

A log does not tell what clients read, watch or believe, nor when they connected again.
The line of a client appears when its time in the queue or as a holder ends; those that
still last come at the end.
`

// flags are those of "zkr history".
type flags struct {
	logs         []string
	at, from, to string
	suspicious   bool
}

// history is "zkr history".
func (a *app) history() *cobra.Command {
	var fl flags
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.ReadsFiles, cli.Reads),
		Use:         "history [PATH]",
		Short:       "Show who held, waited and led, and when, from the transaction logs of the servers",
		Long:        historyHelp,
		Example: "  zkr history /locks/report --logs /var/lib/zookeeper\n" +
			"  zkr history /locks/report --logs /var/lib/zookeeper --at 03:12\n" +
			"  zkr history --suspicious --from 24h --logs zk1=/copy/1 --logs zk2=/copy/2",
		Args: cli.OptionalPath,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			root := "/"
			if len(args) > 0 {
				root = args[0]
			}
			v, err := fl.interval(time.Now())
			if err != nil {
				return err
			}
			in, err := historyargs.Open("logs", fl.logs)
			if err != nil {
				return err
			}
			received := signals.Listen()
			ctx, stop := signals.UntilSignal(cmd.Context(), received)
			err = a.show(ctx, root, in, v, fl.suspicious)
			if cause := stop(); cause != nil {
				return signals.Interrupted(cause, "not finished")
			}
			return err
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&fl.logs, "logs", nil, "`[NAME=]DIR` with the files of a server, or of a recording; may be repeated")
	f.StringVar(&fl.at, "at", "", "show `MOMENT` alone")
	f.StringVar(&fl.from, "from", "", "show what ended at or after `MOMENT`")
	f.StringVar(&fl.to, "to", "", "show what began at or before `MOMENT`")
	f.BoolVar(&fl.suspicious, "suspicious", false, "show what should be looked at")
	return cmd
}

// interval is the time to show; zero times are no limits.
type interval struct {
	from, to time.Time
	moment   bool // both are --at
}

func (fl *flags) interval(now time.Time) (v interval, err error) {
	if fl.at != "" && (fl.from != "" || fl.to != "" || fl.suspicious) {
		return v, exit.Usage("--at shows one moment: leave out --from, --to and --suspicious")
	}
	for _, f := range []struct {
		name, text string
		set        []*time.Time
	}{{"at", fl.at, []*time.Time{&v.from, &v.to}}, {"from", fl.from, []*time.Time{&v.from}}, {"to", fl.to, []*time.Time{&v.to}}} {
		if f.text == "" {
			continue
		}
		at, err := parseMoment(f.name, f.text, now)
		if err != nil {
			return v, err
		}
		for _, set := range f.set {
			*set = at
		}
	}
	if v.moment = fl.at != ""; !v.from.IsZero() && !v.to.IsZero() && v.to.Before(v.from) {
		return v, exit.Usage("--to is %s, before --from, %s", v.to.Format(time.RFC3339), v.from.Format(time.RFC3339))
	}
	return v, nil
}

// has reports whether a stay lasted within the interval.
func (v interval) has(s *history.Stay) bool {
	if v.moment {
		return s.Covers(v.from)
	}
	return (s.Ended == nil || !s.Ended.Time.Before(v.from)) && (v.to.IsZero() || !s.Entered.Time.After(v.to))
}

// show reads the files and prints.
func (a *app) show(ctx context.Context, root string, in *history.Origin, v interval, suspicious bool) error {
	out := &printer{app: a, interval: v, status: a.StatusLine()}
	// Stays are followed to their ends, however late they are.
	o := &history.Options{Ended: out.stay, Report: out.finding}
	sumUp := func() {}
	if suspicious {
		o.Until = v.to
		audit := history.NewAuditor(out.suspicion)
		audit.From = v.from
		o.Began, o.Granted, o.Ended, o.Thing, o.Herd, o.Report = audit.Began, audit.Granted, audit.Ended, audit.Thing, audit.Herd, audit.Report
		sumUp = func() {
			if s, told := audit.LongestWaits(); told {
				out.suspicion(s)
			}
		}
	}
	r, err := in.Reader(ctx, root, o)
	if err != nil {
		return historyargs.Advise("logs", err)
	}
	defer func() { _ = r.Close() }() // only read
	stop := follow(ctx, out.status, r)
	sum, err := r.Run(ctx)
	stop()
	sumUp()
	if err = errors.Join(err, out.flush()); err != nil {
		return err
	}
	a.conclude(sum, v, out, suspicious)
	if out.serious > 0 {
		return &exit.Failure{Code: exit.CodeFailed, Err: errors.New(cli.Count(out.serious, "suspicion"))}
	}
	return nil
}

// conclude notes on stderr what was read.
func (a *app) conclude(sum history.Summary, v interval, out *printer, suspicious bool) {
	what := "nothing held, awaited or led"
	if suspicious {
		what = "nothing suspicious"
	}
	for _, gap := range out.gaps {
		a.Note("%s", gap)
	}
	if sum.Transactions == 0 && !sum.Recorded {
		a.Note("the files have no transaction of that time")
		return
	}
	if out.lines == 0 || suspicious && out.serious == 0 {
		a.Note("%s", what)
	}
	kind := "transaction"
	if sum.Recorded {
		kind = "recorded change"
	}
	a.Note("read %s, of which %d changed something here, from %s to %s", cli.Count(int(sum.Transactions), kind), sum.Changes, spot(sum.First), spot(sum.Last))
	if !v.from.IsZero() && sum.First.Time.After(v.from) {
		a.Note("the files do not reach back to %s", cli.Timestamp(v.from))
	}
	if v.moment && sum.Last.Time.Before(v.from) {
		a.Note("the files end before %s", cli.Timestamp(v.from))
	}
	if n := out.findings; n > 0 && !suspicious {
		a.Note("%s about the files: --suspicious shows them", cli.Count(n, "finding"))
	}
}

func spot(m history.Moment) string {
	if m.Zxid == 0 {
		return cli.Timestamp(m.Time)
	}
	if m.Time.IsZero() {
		return m.Zxid.String()
	}
	return fmt.Sprintf("%s (%v)", cli.Timestamp(m.Time), m.Zxid)
}
