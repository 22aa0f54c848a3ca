// Package takeaway is what "zkr lock break", "zkr rwlock break" and "zkr elect depose" have in
// common: they show what a holder would lose, ask, and take it away, with a record of the
// operator and the reason.
package takeaway

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/session"
)

// Holder is the client that something is taken away from.
type Holder struct {
	ID      []byte
	Session int64
	Token   int64
	Since   time.Time
	// Share is what the holder has of something that several clients may hold, such as
	// "reading"; "" for what one client holds alone.
	Share string
	// Waiting is how many clients wait for the hold.
	Waiting int
}

// Record tells of something that was taken away.
type Record struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Holder  string    `json:"holder"`
	Session string    `json:"session"`
	Token   int64     `json:"token,string"`
}

// Hold is something that clients hold, at one path.
type Hold interface {
	// Find returns the holders, in the order of their arrival.
	Find(ctx context.Context) ([]Holder, error)
	// Take takes it away from the holder with a token, one of those that Find has returned
	// last. gone is the error, if that client does not hold any more.
	Take(ctx context.Context, token int64, by, reason string) (gone, err error)
	// Records lists what was taken away, the newest first.
	Records(ctx context.Context) ([]Record, error)
}

// Command is a command that takes things away.
type Command struct {
	Family string // the command above: "lock"
	Name   string // of what is held: "lock"
	Verb   string // "break"
	Short  string
	Long   string
	// Shared says that several clients may hold: an option tells which of them loses it.
	Shared bool
	// Flags adds the command's own options, and Check checks them; nil: none.
	Flags func(*pflag.FlagSet)
	Check func() error
	Open  func(client *session.Client, path string) Hold
}

// help is the part of the help that the commands share.
const help = `
Shows the holder, asks, and deletes its znode, if it is still the holder's; a record
with the operator's name and the reason is written in the same transaction. The next
client holds at once. The former holder learns of it within a heartbeat, some seconds at
most, and until then both may work: make sure that the former holder is stopped, or that
its writes are fenced by its token. A process that hangs notices when it works again.
"zkr lock", "zkr rwlock" and "zkr elect" stop their command, and show the reason.
`

// helpShared is the part for what several clients may hold.
const helpShared = `
If several clients hold, --token says which of them is meant: without it, they are listed,
and nothing is changed.
`

type options struct {
	by, reason string
	token      int64
	yes, list  bool
}

// New makes the command.
func (c Command) New(a *cli.App) *cobra.Command {
	var o options
	long := c.Long + help
	if c.Shared {
		long += helpShared
	}
	cmd := &cobra.Command{
		Use:   c.Verb + " PATH",
		Short: c.Short,
		Long:  long,
		Example: fmt.Sprintf("  zkr %[1]s %[2]s /a/b --reason \"web-1 hangs, and was powered off\" --yes\n", c.Family, c.Verb) +
			fmt.Sprintf("  zkr %s %s /a/b --list", c.Family, c.Verb),
		Args: cli.OnPath(c.Name),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if c.Check != nil {
				if err := c.Check(); err != nil {
					return err
				}
			}
			if o.list {
				return c.showRecords(cmd.Context(), a, args[0])
			}
			if o.reason == "" {
				return exit.Usage("--reason is missing: say why, for those who are affected")
			}
			if err := a.CheckYes(o.yes); err != nil {
				return err
			}
			return a.LongCall(cmd.Context(), func(ctx context.Context, client *session.Client) error {
				return c.run(ctx, a, client, args[0], o)
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.reason, "reason", "", "`text` that says why; the former holder and \"--list\" show it")
	f.StringVar(&o.by, "by", "", "the operator's `name`; default: user@host")
	cli.YesFlag(cmd, &o.yes)
	f.BoolVar(&o.list, "list", false, "only show what was taken away before: the last 16 times")
	if c.Shared {
		f.Int64Var(&o.token, "token", 0, "the `token` of the holder, as ls shows it; 0: there is one holder")
	}
	if c.Flags != nil {
		c.Flags(f)
	}
	return cmd
}

func (c Command) run(ctx context.Context, a *cli.App, client *session.Client, path string, o options) error {
	hold := c.Open(client, path)
	holders, err := cli.Within(ctx, a, hold.Find)
	if err != nil {
		return err
	}
	holder, err := c.choose(path, holders, o.token)
	if err != nil {
		return err
	}
	if !o.yes {
		if err := c.confirm(ctx, a, path, holder); err != nil {
			return err
		}
	}
	gone, err := cli.Within(ctx, a, func(ctx context.Context) (error, error) {
		return hold.Take(ctx, holder.Token, cmp.Or(o.by, cli.Operator()), o.reason)
	})
	switch {
	case gone != nil:
		return &exit.Failure{Code: exit.CodeFailed, Err: gone, Hint: "the holder has gone meanwhile, and another client may hold now; nothing was changed"}
	case err != nil:
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Path    string `json:"path"`
			Holder  string `json:"holder"`
			Session string `json:"session"`
			Token   int64  `json:"token,string"`
		}{path, cli.AsText(holder.ID), cli.SessionID(holder.Session), holder.Token})
	}
	return a.Printf("took the %s %s away from %s (session %s)\n", c.Name, path, cli.Readable(holder.ID), cli.OrElse(cli.SessionID(holder.Session), "none"))
}

// choose finds the holder that is meant.
func (c Command) choose(path string, holders []Holder, token int64) (*Holder, error) {
	if token == 0 && len(holders) > 1 {
		var list strings.Builder
		for _, h := range holders {
			fmt.Fprintf(&list, "\n  --token %d  %s, %s, %s", h.Token, cli.Readable(h.ID), cli.OrElse(cli.SessionID(h.Session), "no session"), h.Share)
		}
		return nil, exit.Usage("the %s %s has %d holders; say which one:%s", c.Name, path, len(holders), list.String())
	}
	for i, h := range holders {
		if token == 0 || token == h.Token {
			return &holders[i], nil
		}
	}
	err := fmt.Errorf("the %s %s has no holder", c.Name, path)
	if token != 0 {
		err = fmt.Errorf("%w with the token %d", err, token)
	}
	return nil, &exit.Failure{Code: exit.CodeFailed, Err: err}
}

// confirm shows what would be lost, and returns an error unless the answer is yes.
func (c Command) confirm(ctx context.Context, a *cli.App, path string, h *Holder) error {
	share := ""
	if h.Share != "" {
		share = ", " + h.Share
	}
	fmt.Fprintf(a.Stderr, "The %s %s is held by %s%s\n  session  %s\n  token    %d\n  since    %s (in the queue; %s)\n  waiting  %s\n",
		c.Name, path, cli.Readable(h.ID), share, cli.OrElse(cli.SessionID(h.Session), "none"), h.Token, cli.LocalTime(h.Since), cli.Age(h.Since), cli.Count(h.Waiting, "client"))
	fmt.Fprintln(a.Stderr, "Until it notices, some seconds or for as long as it hangs, it may work beside the next holder.")
	return a.Confirm(ctx, "Take it away?")
}

func (c Command) showRecords(ctx context.Context, a *cli.App, path string) error {
	var list []Record
	if err := a.Call(ctx, func(ctx context.Context, client *session.Client) (err error) {
		list, err = c.Open(client, path).Records(ctx)
		return err
	}); err != nil {
		return err
	}
	if a.JSON() {
		return a.PrintJSON(struct {
			Path    string   `json:"path"`
			Records []Record `json:"records"`
		}{path, append([]Record{}, list...)})
	}
	if len(list) == 0 {
		return a.NoteEmpty("the %s %s was never taken away", c.Name, path)
	}
	rows := make([][]string, len(list))
	for i, r := range list {
		rows[i] = []string{cli.LocalTime(r.At), cli.Readable([]byte(r.By)), cli.Readable([]byte(r.Reason)), cli.Readable([]byte(r.Holder)), cli.OrElse(r.Session, "none"), strconv.FormatInt(r.Token, 10)}
	}
	return a.Table("AT BY REASON HOLDER SESSION TOKEN", rows)
}

// By makes a function that says who took a hold away, "" if it was lost in another way. find
// finds the record, and read reads it.
func By[R any](find func(context.Context) (R, bool, error), read func(R) (by, reason string, at time.Time)) func(context.Context) string {
	return func(ctx context.Context) string {
		r, ok, err := find(ctx)
		if err != nil || !ok {
			return ""
		}
		return loss(read(r))
	}
}

// loss is the sentence for a command that has lost its hold in this way.
func loss(by, reason string, at time.Time) string {
	return fmt.Sprintf("%s took it away at %s: %s", cli.Readable([]byte(by)), cli.LocalTime(at), cli.Readable([]byte(reason)))
}
