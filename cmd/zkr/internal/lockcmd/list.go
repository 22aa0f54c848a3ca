package lockcmd

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/foreign"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Contender is a lock.Contender in JSON.
type Contender struct {
	Place   int       `json:"place"`
	State   string    `json:"state"` // holds or waits
	ID      string    `json:"id"`
	Permits int       `json:"permits"`
	Token   int64     `json:"token,string"`
	Session string    `json:"session"` // hexadecimal; "" for a foreign znode without a session
	Since   time.Time `json:"since"`   // queued up, by the server's clock
	Path    string    `json:"path"`    // of the contender's znode
	Outside bool      `json:"outside"` // waits beside the queue, which is long
}

// ContenderColumns are the columns of the table.
const ContenderColumns = "PLACE STATE ID PERMITS TOKEN SESSION SINCE AGE"

// lockList is "zkr lock ls".
func (a *app) lockList() *cobra.Command {
	var permits int
	var v2 bool
	cmd := &cobra.Command{
		Annotations: cli.Does(cli.Connects, cli.Reads),
		Use:         "ls [PATH]",
		Short:       "Show the holders of the lock PATH and the waiting contenders, in order, or all locks",
		Long: "Shows the contenders for the lock PATH, in order. STATE is holds or waits. SINCE is\n" +
			"when the contender queued up, by the servers' clock. Clients that wait beside a long\n" +
			"queue, in PATH.waiting, are listed last. The number of a semaphore's\n" +
			"permits is read from PATH, except for Curator's semaphores: give it with -n. A note on\n" +
			"stderr says if PATH has contenders of another recipe, which the lock does not exclude.\n" +
			"A PATH that does not exist is not an error, because servers remove the znode of an\n" +
			"unused lock: a note on stderr says so, and with -o json exists is false.\n\n" +
			"Without PATH, all mutexes, read/write locks and semaphores of the ensemble, or below\n" +
			"the chroot, are listed, with their holders, how many wait, and since when the first\n" +
			"one does; for this the whole tree is read.",
		Example: "  zkr lock ls\n  zkr lock ls /locks/backup\n" +
			"  zkr lock ls /slots/encode --curator-v2 -n 3\n" +
			"  zkr lock ls /locks/backup -o json | jq -r '.contenders[] | select(.state == \"holds\") | .id'",
		Args: cli.OptionalPath,
		RunE: cli.RunE(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (permits != 0 || v2) {
				return exit.Usage("-n and --curator-v2 are for one semaphore: give its PATH")
			}
			if len(args) == 0 {
				return a.listAll(cmd.Context())
			}
			if err := checkPermits(permits, v2); err != nil {
				return err
			}
			var list []Contender
			var around foreign.Surroundings
			if err := a.Call(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				var kind recognize.Kind
				if list, kind, err = contenders(ctx, client, args[0], permits, v2); err == nil {
					around = foreign.Inspect(ctx, client, kind, args[0])
				}
				return err
			}); err != nil {
				return err
			}
			around.NoteForeign(a.App)
			return a.show(args[0], list, around)
		}),
	}
	cmd.Flags().IntVarP(&permits, "n", "n", 0, "semaphore of `N` permits; 0: a mutex, or the number of permits is read from PATH")
	cmd.Flags().BoolVar(&v2, "curator-v2", false, "with -n: the semaphore is Curator's InterProcessSemaphoreV2")
	return cmd
}

// contenders reads the contenders of a mutex, or of a semaphore if the flags
// say so, or if the path has a number of permits and no contender of a mutex.
// kind is the kind of the contenders; "" for contenders below folders of the
// path.
func contenders(ctx context.Context, client *session.Client, path string, permits int, v2 bool) (out []Contender, kind recognize.Kind, err error) {
	var found []lock.Contender
	if permits == 0 {
		if found, err = lock.New(client, path, nil).Contenders(ctx); err == nil && len(found) == 0 {
			permits, err = lock.PermitsAt(ctx, client, path)
		}
	}
	kind = recognize.Mutex
	if err == nil && permits > 0 {
		if kind = recognize.Semaphore; v2 {
			kind = ""
		}
		found, err = lock.NewSemaphore(client, path, permits, &lock.Options{CuratorV2: v2}).Contenders(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	out = make([]Contender, 0, len(found))
	for i, c := range found {
		one := Contender{
			Place: i + 1, State: "waits", ID: cli.AsText(c.Data), Permits: c.Permits, Token: c.Token,
			Since: c.Since, Path: c.Path, Outside: c.Outside, Session: cli.SessionID(c.Session),
		}
		if c.Holds {
			one.State = "holds"
		}
		out = append(out, one)
	}
	return out, kind, nil
}

// show prints a list of contenders.
func (a *app) show(path string, list []Contender, around foreign.Surroundings) error {
	if a.JSON() {
		return a.PrintJSON(struct {
			Path       string      `json:"path"`
			Exists     bool        `json:"exists"`
			Contenders []Contender `json:"contenders"`
		}{path, !around.Missing, list})
	}
	if len(list) == 0 {
		return around.NoteEmptyList(a.App, path, "%s has no holder and no waiting contender")
	}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		rows = append(rows, []string{
			strconv.Itoa(c.Place), c.State, cli.Readable([]byte(c.ID)), strconv.Itoa(c.Permits), strconv.FormatInt(c.Token, 10),
			cli.OrElse(c.Session, "none"), cli.LocalTime(c.Since), cli.Age(c.Since),
		})
	}
	return a.Table(ContenderColumns, rows)
}
