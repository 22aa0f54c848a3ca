package rwlockcmd

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/takeaway"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

const rwlockHelp = `Readers hold the lock PATH together; a writer holds the lock alone. The lock is
granted in the order of arrival: no reader passes a writer that arrived before.

CMD's environment has ZKR_LOCK_PATH (the holder's znode), ZKR_LOCK_TOKEN (the
fencing token: of two holds that exclude each other, the later hold has the greater
token), ZKR_LOCK_SESSION and ZKR_LOCK_MODE (read or write).
` + supervise.RunHelp

// rwlock is "zkr rwlock".
func (a *app) rwlock() *cobra.Command {
	return cli.CommandGroup(&cobra.Command{
		Use:   "rwlock",
		Short: "Run a command while holding a lock as a reader or as the only writer",
		Long:  rwlockHelp,
		Example: "  zkr rwlock read /locks/db -- pg_dump -f /backup/db.sql\n" +
			"  zkr rwlock write /locks/db -- ./migrate\n" +
			"  zkr rwlock ls /locks/db",
	}, a.rwlockRun("read", "Run a command while holding the lock PATH together with other readers"),
		a.rwlockRun("write", "Run a command while holding the lock PATH alone"), a.rwlockList(), a.revoke(), a.breakLock())
}

// rwlockSpec has the arguments of "zkr rwlock read" and "zkr rwlock write".
type rwlockSpec struct {
	supervise.RunSpec
	path   string
	write  bool
	layout string
	// revocable: the command ends when another client asks for the lock.
	revocable bool
	opts      rwlock.Options
}

func (a *app) rwlockRun(mode, short string) *cobra.Command {
	e := rwlockSpec{write: mode == "write"}
	cmd := &cobra.Command{
		Use:     mode + " PATH [flags] -- CMD [ARGS...]",
		Short:   short,
		Long:    rwlockHelp,
		Example: "  zkr rwlock " + mode + " /locks/db -- ./job\n  zkr rwlock " + mode + " /locks/db --try -- ./job || test $? -eq 75",
		Args:    cli.BeforeCommand("lock", "PATH"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			e.path, e.Argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.Target = supervise.Target{
				Name: fmt.Sprintf("the %s lock %s", mode, e.path), ListCommand: fmt.Sprintf("\"zkr rwlock ls %s\"", e.path),
				EnvPrefix: "ZKR_LOCK", Acquire: e.lock, WaitsFor: supervise.Queue(e.path, e.list, describe),
			}
			return supervise.Run(cmd.Context(), a.App, &e.RunSpec)
		}),
	}
	e.RunFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.Try, "try", false, "do not wait: exit with 75 if the lock is not free")
	f.StringVar(&e.opts.ID, "id", "", "`text` that describes the contender to people; default: host:pid")
	f.StringVar(&e.layout, "layout", "curator", "the znodes' `layout`: curator or kazoo")
	cli.OneOf(cmd, "layout", "curator", "kazoo")
	f.BoolVar(&e.revocable, "revocable", false, "end the command with TERM when another client asks for the lock: \"zkr rwlock revoke\", or Curator's Revoker")
	return cmd
}

func (e *rwlockSpec) checkAll(cmd *cobra.Command) error {
	switch e.layout {
	case "curator":
	case "kazoo":
		e.opts.Layout = rwlock.Kazoo
	default:
		return exit.Usage("--layout is %q; it must be curator or kazoo", e.layout)
	}
	if err := cli.CheckPath(e.path); err != nil {
		return err
	}
	return e.Check(cmd)
}

func (e *rwlockSpec) lock(ctx context.Context, client *session.Client) (*supervise.Hold, error) {
	m := rwlock.New(client, e.path, &e.opts)
	get, mode := m.RLock, "read"
	switch {
	case e.write && e.Try:
		get, mode = m.TryLock, "write"
	case e.write:
		get, mode = m.Lock, "write"
	case e.Try:
		get = m.TryRLock
	}
	h, err := get(ctx)
	if err != nil {
		return nil, err
	}
	hold := &supervise.Hold{Holdable: h, Token: h.Token(), Vars: []string{"ZKR_LOCK_MODE=" + mode}, Release: h.Unlock, TakenBy: takeaway.By(h.Broken, readBreak)}
	if e.revocable {
		hold.AwaitRequest = h.AwaitRevocation
	}
	return hold, nil
}

func (e *rwlockSpec) list(ctx context.Context, client *session.Client) ([]rwlock.Contender, error) {
	return rwlock.New(client, e.path, &e.opts).Contenders(ctx)
}

func describe(c rwlock.Contender) supervise.Contender {
	return supervise.Contender{Name: string(c.Data), Session: c.Session, Token: c.Token, Since: c.Since, Holds: c.Holds}
}

// Sharer is an rwlock.Contender in JSON.
type Sharer struct {
	Place   int       `json:"place"`
	State   string    `json:"state"` // holds or waits
	Mode    string    `json:"mode"`  // read or write
	ID      string    `json:"id"`
	Token   int64     `json:"token,string"`
	Session string    `json:"session"` // hexadecimal; "" for a foreign znode without a session
	Since   time.Time `json:"since"`   // queued up, by the server's clock
	Path    string    `json:"path"`    // of the contender's znode
}

// SharerColumns are the columns of the table.
const SharerColumns = "PLACE STATE MODE ID TOKEN SESSION SINCE AGE"

// rwlockList is "zkr rwlock ls".
func (a *app) rwlockList() *cobra.Command {
	return &cobra.Command{
		Annotations: cli.Does(cli.Reads),
		Use:         "ls PATH",
		Short:       "Show the readers and writers that hold the lock PATH, and the waiting ones",
		Long: "Shows the contenders for the lock PATH, in order. STATE is holds or waits, MODE is read\n" +
			"or write. SINCE is when the contender queued up, by the servers' clock. A note on\n" +
			"stderr says if PATH has contenders of another recipe, which the lock does not exclude.",
		Example: "  zkr rwlock ls /locks/db",
		Args:    cli.OnPath("lock"),
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			var found []rwlock.Contender
			var around foreign.Surroundings
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				if found, err = rwlock.New(client, args[0], nil).Contenders(ctx); err == nil {
					around = foreign.Inspect(ctx, client, recognize.RWLock, args[0])
				}
				return err
			}); err != nil {
				return err
			}
			around.NoteForeign(a.App)
			list := make([]Sharer, 0, len(found))
			for i, c := range found {
				one := Sharer{
					Place: i + 1, State: "waits", Mode: modeOf(c), ID: cli.AsText(c.Data), Token: c.Token,
					Session: cli.SessionID(c.Session), Since: c.Since, Path: args[0] + "/" + c.Name,
				}
				if c.Holds {
					one.State = "holds"
				}
				list = append(list, one)
			}
			return a.showSharers(args[0], list, around)
		}),
	}
}

func (a *app) showSharers(path string, list []Sharer, around foreign.Surroundings) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Path       string   `json:"path"`
			Exists     bool     `json:"exists"`
			Contenders []Sharer `json:"contenders"`
		}{path, !around.Missing, list})
	}
	if len(list) == 0 {
		return around.NoteEmptyList(a.App, path, "%s has no holder and no waiting contender")
	}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		rows = append(rows, []string{
			strconv.Itoa(c.Place), c.State, c.Mode, cli.Readable([]byte(c.ID)), strconv.FormatInt(c.Token, 10),
			cli.OrElse(c.Session, "none"), cli.LocalTime(c.Since), cli.Age(c.Since),
		})
	}
	return a.Table(SharerColumns, rows)
}
