package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
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
	Znode   string    `json:"znode"`   // name below the path
}

// lockList is "zkr lock ls".
func (a *app) lockList() *cobra.Command {
	var permits int
	var v2 bool
	cmd := &cobra.Command{
		Use:   "ls PATH",
		Short: "Show who holds the lock PATH, and who waits",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("which lock? zkr lock ls PATH")
			}
			return nil
		},
		RunE: does(func(cmd *cobra.Command, args []string) error {
			if err := session.ValidatePath(args[0]); err != nil {
				return usage("%w", err)
			}
			if v2 && permits < 1 {
				return usage("--curator-v2 is for a semaphore; say -n as well")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			list, err := a.contenders(ctx, args[0], permits, v2)
			if err != nil {
				return err
			}
			return a.show(args[0], list)
		}),
	}
	cmd.Flags().IntVarP(&permits, "n", "n", 0, "semaphore of `N` permits; 0: a mutex")
	cmd.Flags().BoolVar(&v2, "curator-v2", false, "with -n: the semaphore is Curator's InterProcessSemaphoreV2")
	return cmd
}

// contenders reads the contenders of a mutex or semaphore.
func (a *app) contenders(ctx context.Context, path string, permits int, v2 bool) ([]contender, error) {
	o, err := a.options()
	if err != nil {
		return nil, err
	}
	client, err := a.connect(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = hangUp(ctx, client) }()
	limited, cancel := context.WithTimeout(ctx, a.flags.connectTimeout)
	defer cancel()
	list := lock.New(client, path, nil).Contenders
	if permits != 0 {
		list = lock.NewSemaphore(client, path, permits, &lock.Options{CuratorV2: v2}).Contenders
	}
	found, err := list(limited)
	if err != nil {
		return nil, err
	}
	out := make([]contender, 0, len(found))
	for i, c := range found {
		one := contender{
			Place: i + 1, State: "waits", ID: readable(c.Data), Permits: c.Permits, Token: c.Token,
			Since: c.Since, Znode: c.Name,
		}
		if c.Holds {
			one.State = "holds"
		}
		if c.Session != 0 {
			one.Session = fmt.Sprintf("%#x", c.Session)
		}
		out = append(out, one)
	}
	return out, nil
}

// readable is a contender's data as text; other clients may write anything.
func readable(data []byte) string {
	if utf8.Valid(data) {
		text := string(data)
		for _, r := range text {
			if !unicode.IsPrint(r) {
				return strconv.QuoteToASCII(text)
			}
		}
		return text
	}
	return strconv.QuoteToASCII(string(data))
}

// show prints a list of contenders.
func (a *app) show(path string, list []contender) error {
	if a.json() {
		text, err := json.Marshal(struct {
			Path       string      `json:"path"`
			Contenders []contender `json:"contenders"`
		}{path, list})
		if err == nil {
			_, err = fmt.Fprintf(a.stdout, "%s\n", text)
		}
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(a.stdout, "Nobody holds %s, and nobody waits for it.\n", path)
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "PLACE\tSTATE\tID\tPERMITS\tTOKEN\tSESSION\tSINCE\tAGE")
	for _, c := range list {
		owner := c.Session
		if owner == "" {
			owner = "none"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%d\t%s\t%s\t%v\n", c.Place, c.State, c.ID, c.Permits, c.Token, owner,
			c.Since.Format(time.DateTime), time.Since(c.Since).Truncate(time.Second))
	}
	return w.Flush()
}
