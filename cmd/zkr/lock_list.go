package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// contender is a lock.Contender as "-o json" shows it.
type contender struct {
	Place   int       `json:"place"`
	State   string    `json:"state"` // holds or waits
	ID      string    `json:"id"`
	Permits int       `json:"permits"`
	Token   int64     `json:"token"`
	Session string    `json:"session"` // hexadecimal; "" for a stranger's node that belongs to none
	Since   time.Time `json:"since"`   // queued up, by the server's clock
	Path    string    `json:"path"`    // of the znode that stands for it
}

// contenderColumns are those that tables show.
const contenderColumns = "PLACE STATE ID PERMITS TOKEN SESSION SINCE AGE"

// lockList is "zkr lock ls".
func (a *app) lockList() *cobra.Command {
	var permits int
	var v2 bool
	cmd := &cobra.Command{
		Use:   "ls PATH",
		Short: "Show who holds the lock PATH, and who waits",
		Long: "Shows who has queued up at the lock PATH, in order: STATE is holds or waits. SINCE is\n" +
			"when somebody has queued up, by the servers' clock. A semaphore's PATH says how many\n" +
			"permits there are; only Curator's does not. Contenders of another recipe in PATH are\n" +
			"remarked upon on stderr: these and those do not exclude each other.",
		Example: "  zkr lock ls /locks/backup\n" +
			"  zkr lock ls /slots/encode --curator-v2 -n 3\n" +
			"  zkr lock ls /locks/backup -o json | jq -r '.contenders[] | select(.state == \"holds\") | .id'",
		Args: onPath("lock"),
		RunE: does(func(cmd *cobra.Command, args []string) error {
			switch {
			case permits < 0:
				return usage("-n is %d; it must be 0 (as PATH says) or more", permits)
			case v2 && permits < 1:
				return usage("--curator-v2 is for a semaphore; say -n as well")
			}
			var list []contender
			var remarks []string
			if err := a.visit(cmd.Context(), func(ctx context.Context, client *session.Client) (err error) {
				var kind recognize.Kind
				if list, kind, err = contenders(ctx, client, args[0], permits, v2); err == nil {
					remarks = unheeded(ctx, client, kind, args[0])
				}
				return err
			}); err != nil {
				return err
			}
			for _, remark := range remarks {
				a.note("%s", remark)
			}
			return a.show(args[0], list)
		}),
	}
	cmd.Flags().IntVarP(&permits, "n", "n", 0, "semaphore of `N` permits; 0: a mutex, or as many as PATH says")
	cmd.Flags().BoolVar(&v2, "curator-v2", false, "with -n: the semaphore is Curator's InterProcessSemaphoreV2")
	return cmd
}

// contenders reads the contenders of a mutex, or of a semaphore if that is said, or
// if the path says how many permits it has and nobody takes it for a mutex. kind is what
// they contend for; "" for what stands below folders of the path.
func contenders(ctx context.Context, client *session.Client, path string, permits int, v2 bool) (out []contender, kind recognize.Kind, err error) {
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
	out = make([]contender, 0, len(found))
	for i, c := range found {
		one := contender{
			Place: i + 1, State: "waits", ID: asText(c.Data), Permits: c.Permits, Token: c.Token,
			Since: c.Since, Path: path + "/" + c.Name, Session: sessionID(c.Session),
		}
		if c.Holds {
			one.State = "holds"
		}
		out = append(out, one)
	}
	return out, kind, nil
}

// show prints a list of contenders.
func (a *app) show(path string, list []contender) error {
	if a.json() {
		return a.line(struct {
			Path       string      `json:"path"`
			Contenders []contender `json:"contenders"`
		}{path, list})
	}
	if len(list) == 0 {
		return a.empty("nobody holds %s, and nobody waits for it", path)
	}
	rows := make([][]string, 0, len(list))
	for _, c := range list {
		rows = append(rows, []string{
			strconv.Itoa(c.Place), c.State, readable([]byte(c.ID)), strconv.Itoa(c.Permits), strconv.FormatInt(c.Token, 10),
			or(c.Session, "none"), clock(c.Since), age(c.Since),
		})
	}
	return a.table(contenderColumns, rows)
}
