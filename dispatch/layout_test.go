package dispatch_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

var update = flag.Bool("update", false, "rewrite testdata/layout.golden") // read only

// TestLayout compares the znodes left by the operations with a file.
func TestLayout_M2_M3_M10_M19_M21(t *testing.T) {
	var out strings.Builder
	inWorld(t, nil, func(w *World) {
		uuid := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
		short := regexp.MustCompile(`\b[0-9a-f]{16}\b`)
		version := regexp.MustCompile(`"version":[0-9]+`)
		token := regexp.MustCompile(`"token":[0-9]+`)
		serial := regexp.MustCompile(`~([0-9]+)-[0-9a-z]+\.([0-9a-z]+)`)
		clean := func(text string) string {
			text = version.ReplaceAllString(text, `"version":<version>`) // a task may be given back twice
			text = uuid.ReplaceAllString(text, "<uuid>")
			text = short.ReplaceAllString(text, "<part of a uuid>")
			text = token.ReplaceAllString(text, `"token":<token>`)
			return serial.ReplaceAllString(text, "~$1-<token>.$2")
		}
		show := func(title string) {
			w.Pass(2 * time.Second) // until the counts are published
			fmt.Fprintf(&out, "# %s\n%s\n", title, w.Tree(path, clean))
		}
		c := w.Client()
		q := dispatch.New(c, path, &dispatch.Options{MaxTasks: 1000})
		w.submit(q, dispatch.Task{
			ID: "letters/7", Payload: []byte("Dear Ann"), Priority: 3, Labels: []string{"smtp"}, MaxAttempts: 2,
			Deadline: time.Now().Add(time.Hour), Retention: time.Minute, Attached: true,
		})
		show("a task was submitted")
		w.beside(dispatch.NewMaster(w.Client(), path, &dispatch.Options{ID: "m"}).Run)
		handler := takes(10 * time.Second)
		k := w.beside(dispatch.NewWorker(w.Client(), path, handler, &dispatch.WorkerOptions{Name: "pod/3", Concurrency: 2, Labels: []string{"smtp"}}).Run)
		show("it was given to a worker")
		w.Pass(10 * time.Second)
		show("it is done")
		w.collect(q, "letters/7")
		w.submit(q, dispatch.Task{ID: "b"})
		w.Settle()
		require.NoError(w, q.Cancel(w.Ctx, "b"))
		show("it was collected; another one was canceled")
		w.submit(q, dispatch.Task{ID: "c", MaxAttempts: 1})
		w.Settle()
		_ = k.end()
		show("the worker was stopped: its task waits")
		dies := w.Client()
		r := w.beside(dispatch.NewWorker(dies, path, handler, &dispatch.WorkerOptions{Name: "dies"}).Run)
		w.Settle()
		w.kill(dies, r)
		show("a worker has died at the last attempt")
	})
	world.Golden(t, *update, out.String())
}

// Every znode has the requested ACL.
func TestACL(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ann := session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}}
		acl := session.CreatorACL()
		o := &dispatch.Options{ACL: acl}
		q := dispatch.New(w.ClientWith(ann), path, o)
		w.beside(dispatch.NewMaster(w.ClientWith(ann), path, o).Run)
		w.beside(dispatch.NewWorker(w.ClientWith(ann), path, echo, &dispatch.WorkerOptions{ACL: acl}).Run)
		id := w.submit(q, dispatch.Task{})
		_, err := q.Wait(w.Ctx, id)
		require.NoError(w, err)
		w.set(q, dispatch.Schedule{Name: "x", Every: time.Second})
		w.Pass(2 * time.Second)
		require.NotEmpty(w, w.schedules(q)[0].LastTask)
		s := w.Session(w.Client())
		for _, n := range w.Server.Dump() {
			if strings.HasPrefix(n.Path, path) {
				_, _, err := s.Get(w.Ctx, n.Path)
				require.ErrorIs(w, err, session.ErrNoAuth, n.Path)
			}
		}
		stranger := w.queue()
		_, err = stranger.Submit(w.Ctx, dispatch.Task{})
		require.ErrorIs(w, err, session.ErrNoAuth)
		_, err = stranger.Wait(w.Ctx, id)
		require.ErrorIs(w, err, session.ErrNoAuth)
		_, err = stranger.Stats(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		ctx := w.Within(time.Minute)
		require.ErrorIs(w, dispatch.NewMaster(w.Client(), path, nil).Run(ctx), session.ErrNoAuth)
		require.ErrorIs(w, dispatch.NewWorker(w.Client(), path, echo, nil).Run(ctx), session.ErrNoAuth)
		world.Pause(time.Second)
	})
}
