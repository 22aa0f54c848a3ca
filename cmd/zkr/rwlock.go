package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

const rwlockHelp = `Readers hold the lock PATH together, a writer holds it alone. First come, first
served: no reader passes a writer that came before.

In CMD's environment are ZKR_LOCK_PATH (the znode that stands for the lock),
ZKR_LOCK_TOKEN (the fencing token: of two holds that exclude each other the later
one's is greater), ZKR_LOCK_SESSION and ZKR_LOCK_MODE (read or write).
` + errandHelp

// rwlock is "zkr rwlock".
func (a *app) rwlock() *cobra.Command {
	return family(&cobra.Command{
		Use:   "rwlock",
		Short: "Run a command while reading together with others, or writing alone",
		Long:  rwlockHelp,
		Example: "  zkr rwlock read /locks/db -- pg_dump -f /backup/db.sql\n" +
			"  zkr rwlock write /locks/db -- ./migrate\n" +
			"  zkr rwlock ls /locks/db",
	}, a.rwlockRun("read", "Run a command while holding the lock PATH together with other readers"),
		a.rwlockRun("write", "Run a command while holding the lock PATH alone"), a.rwlockList())
}

// rwlockErrand is what "zkr rwlock read" and "zkr rwlock write" are asked to do.
type rwlockErrand struct {
	errand
	path   string
	write  bool
	layout string
	opts   rwlock.Options
}

func (a *app) rwlockRun(mode, short string) *cobra.Command {
	e := rwlockErrand{write: mode == "write"}
	cmd := &cobra.Command{
		Use:     mode + " PATH [flags] -- CMD [ARGS...]",
		Short:   short,
		Long:    rwlockHelp,
		Example: "  zkr rwlock " + mode + " /locks/db -- ./job\n  zkr rwlock " + mode + " /locks/db --try -- ./job || test $? -eq 75",
		Args:    beforeCommand("lock", "PATH"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			e.path, e.argv = args[0], args[1:]
			if err := e.checkAll(cmd); err != nil {
				return err
			}
			e.aim = aim{
				name: fmt.Sprintf("the %s lock %s", mode, e.path), look: fmt.Sprintf("\"zkr rwlock ls %s\"", e.path),
				env: "ZKR_LOCK", get: e.lock,
			}
			return a.carryOut(cmd.Context(), &e.errand)
		}),
	}
	e.runFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&e.try, "try", false, "do not wait: exit with 75 if somebody is in the way")
	f.StringVar(&e.opts.ID, "id", "", "`text` that says to others who holds or waits; default: host:pid")
	f.StringVar(&e.layout, "layout", "curator", "the znodes' `layout`: curator or kazoo")
	oneOf(cmd, "layout", "curator", "kazoo")
	return cmd
}

func (e *rwlockErrand) checkAll(cmd *cobra.Command) error {
	switch e.layout {
	case "curator":
	case "kazoo":
		e.opts.Layout = rwlock.Kazoo
	default:
		return usage("--layout is %q; it must be curator or kazoo", e.layout)
	}
	if err := checkPath(e.path); err != nil {
		return err
	}
	return e.check(cmd)
}

func (e *rwlockErrand) lock(ctx context.Context, client *session.Client) (*grant, error) {
	m := rwlock.New(client, e.path, &e.opts)
	get, mode := m.RLock, "read"
	switch {
	case e.write && e.try:
		get, mode = m.TryLock, "write"
	case e.write:
		get, mode = m.Lock, "write"
	case e.try:
		get = m.TryRLock
	}
	h, err := get(ctx)
	if err != nil {
		return nil, err
	}
	return &grant{holdable: h, token: h.Token(), vars: []string{"ZKR_LOCK_MODE=" + mode}, release: h.Unlock}, nil
}

// sharer is an rwlock.Contender as "-o json" shows it.
type sharer struct {
	Place   int       `json:"place"`
	State   string    `json:"state"` // holds or waits
	Mode    string    `json:"mode"`  // read or write
	ID      string    `json:"id"`
	Token   int64     `json:"token"`
	Session string    `json:"session"` // hexadecimal; "" for a stranger's node that belongs to none
	Since   time.Time `json:"since"`   // queued up, by the server's clock
	Path    string    `json:"path"`    // of the znode that stands for it
}

// sharerColumns are those that tables show.
const sharerColumns = "PLACE STATE MODE ID TOKEN SESSION SINCE AGE"

// rwlockList is "zkr rwlock ls".
func (a *app) rwlockList() *cobra.Command {
	return &cobra.Command{
		Use:   "ls PATH",
		Short: "Show who holds the lock PATH, for reading or for writing, and who waits",
		Long: "Shows who has queued up at the lock PATH, in order: STATE is holds or waits, MODE is\n" +
			"read or write. SINCE is when somebody has queued up, by the servers' clock. Contenders\n" +
			"of another recipe in PATH are remarked upon on stderr: these and those do not exclude\n" +
			"each other.",
		Example: "  zkr rwlock ls /locks/db",
		Args:    onPath("lock"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			var found []rwlock.Contender
			var remarks []string
			if err := a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				if found, err = rwlock.New(client, args[0], nil).Contenders(ctx); err == nil {
					remarks = unheeded(ctx, client, recognize.RWLock, args[0])
				}
				return err
			}); err != nil {
				return err
			}
			for _, remark := range remarks {
				a.note("%s", remark)
			}
			list := make([]sharer, 0, len(found))
			for i, c := range found {
				one := sharer{
					Place: i + 1, State: "waits", Mode: "read", ID: asText(c.Data), Token: c.Token,
					Session: sessionID(c.Session), Since: c.Since, Path: args[0] + "/" + c.Name,
				}
				if c.Holds {
					one.State = "holds"
				}
				if c.Exclusive {
					one.Mode = "write"
				}
				list = append(list, one)
			}
			return a.showSharers(args[0], list)
		}),
	}
}

func (a *app) showSharers(path string, list []sharer) error {
	if a.json() {
		return a.line(struct {
			Path       string   `json:"path"`
			Contenders []sharer `json:"contenders"`
		}{path, list})
	}
	if len(list) == 0 {
		return a.empty("nobody holds %s, and nobody waits for it", path)
	}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		rows = append(rows, []string{
			strconv.Itoa(c.Place), c.State, c.Mode, readable([]byte(c.ID)), strconv.FormatInt(c.Token, 10),
			or(c.Session, "none"), clock(c.Since), age(c.Since),
		})
	}
	return a.table(sharerColumns, rows)
}
