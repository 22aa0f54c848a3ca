package ui_test

import (
	"context"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// operator is a dashboard with actions, for one user.
type operator struct {
	*stage
	handler http.Handler
	audits  []ui.Audit
}

// acting makes a dashboard with actions of /; user is "" for a client without a user.
func (s *stage) acting(m *ui.Model, user string) *operator {
	a := &operator{stage: s}
	h := ui.Handler(m, "zk", &ui.Actions{Forms: web.Forms{Key: "key"}, Record: func(r ui.Audit) { a.audits = append(a.audits, r) }})
	a.handler = web.Guard(web.Hosts{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user != "" {
			r = web.WithIdentity(r, web.Identity{User: user})
		}
		h.ServeHTTP(w, r)
	}))
	return a
}

// send sends a request, with a form unless form is nil.
func (a *operator) send(method, target string, form url.Values) (code int, text string) {
	a.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(a.ctx, method, target, body)
	r.Host = "127.0.0.1"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// confirm opens the page of an action, and returns its form with a reason.
func (a *operator) confirm(do, path string) (form url.Values, text string) {
	a.Helper()
	return a.open("/act?" + url.Values{"do": {do}, "path": {path}}.Encode())
}

// open opens the page of an action, and returns its form with a reason.
func (a *operator) open(page string) (form url.Values, text string) {
	a.Helper()
	code, text := a.send("GET", page, nil)
	require.Equal(a, 200, code, text)
	form = url.Values{"reason": {"it hangs"}}
	for _, field := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	return form, text
}

// TestLockIsBrokenOnItsConfirmationPage, with the user and the reason on record.
func TestLockIsBrokenOnItsConfirmationPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	held, err := lock.New(s.actor("web"), "/l", &lock.Options{ID: "web-1"}).Lock(s.ctx)
	require.NoError(t, err)
	m, _ := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 1 })
	ann := s.acting(m, "ann")
	_, page := ann.send("GET", "/locks", nil)
	has(t, page, `href="/act?do=break&amp;path=%2Fl"`, "the list")
	form, text := ann.confirm("break", "/l")
	has(t, text, "web-1", "the page")
	has(t, text, strconv.FormatInt(held.Token(), 10), "the page")
	require.NoError(t, held.Context().Err(), "the page changes nothing")

	for _, reason := range []string{"", "  ", "\xff", strings.Repeat("x", 501)} {
		wrong := url.Values{"reason": {reason}, "do": form["do"], "path": form["path"], "item": form["item"], "csrf": form["csrf"]}
		code, text := ann.send("POST", "/act", wrong)
		assert.Equal(t, 409, code)
		assert.Contains(t, text, "a reason is needed")
	}
	require.NoError(t, held.Context().Err())
	code, text := ann.send("POST", "/act", form)
	require.Equal(t, 200, code, text)
	has(t, text, "Took the lock away from web-1.", "the result")
	<-held.Context().Done()
	breaks, err := lock.New(s.actor("web"), "/l", nil).Breaks(s.ctx)
	require.NoError(t, err)
	require.Len(t, breaks, 1)
	assert.Equal(t, "ann", breaks[0].By)
	assert.Equal(t, "it hangs", breaks[0].Reason)
	last := ann.audits[len(ann.audits)-1]
	assert.Equal(t, ui.Audit{User: "ann", Action: "break", Path: "/l", Item: strconv.FormatInt(held.Token(), 10), ID: "web-1", Reason: "it hangs"}, last)

	next, err := lock.New(s.actor("web"), "/l", &lock.Options{ID: "web-2"}).Lock(s.ctx)
	require.NoError(t, err)
	s.shows(m, func(v *ui.View) bool {
		return len(v.Things) == 1 && len(v.Things[0].Queue) == 1 && v.Things[0].Queue[0].ID == "web-2"
	})
	code, text = ann.send("POST", "/act", form)
	assert.Equal(t, 409, code)
	assert.Contains(t, text, "another client holds now: nothing was changed")
	require.Error(t, ann.audits[len(ann.audits)-1].Err)
	form.Set("item", strconv.FormatInt(next.Token(), 10))
	code, _ = ann.send("POST", "/act", form)
	assert.Equal(t, 403, code, "a form is for the holder on its page")
	require.NoError(t, next.Context().Err())
}

// TestLeaderIsDeposedOnItsConfirmationPage.
func TestLeaderIsDeposedOnItsConfirmationPage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	leader, err := election.New(s.actor("web"), "/e", &election.Options{Data: []byte("web-1")}).Campaign(s.ctx)
	require.NoError(t, err)
	m, _ := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 1 })
	ann := s.acting(m, "ann")
	_, page := ann.send("GET", "/elections", nil)
	has(t, page, "Depose the leader", "the list")
	form, _ := ann.confirm("depose", "/e")
	code, text := ann.send("POST", "/act", form)
	require.Equal(t, 200, code, text)
	<-leader.Context().Done()
	list, err := election.New(s.actor("web"), "/e", nil).Depositions(s.ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "ann", list[0].By)
}

// TestOneOfSeveralHoldersIsChosen, and loses what it holds.
func TestOneOfSeveralHoldersIsChosen(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	var held []session.Held
	for _, id := range []string{"web-1", "web-2"} {
		r, err := rwlock.New(s.actor("web"), "/rw", &rwlock.Options{ID: id}).RLock(s.ctx)
		require.NoError(t, err)
		p, err := lock.NewSemaphore(s.actor("web"), "/s", 3, &lock.Options{ID: id}).Acquire(s.ctx, 1)
		require.NoError(t, err)
		held = append(held, r, p)
	}
	m, _ := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 2 && len(v.Things[0].Queue)+len(v.Things[1].Queue) == 4 })
	ann := s.acting(m, "ann")
	_, page := ann.send("GET", "/locks", nil)
	for i, path := range []string{"/rw", "/s"} {
		has(t, page, html.EscapeString("/act?"+url.Values{"do": {"break"}, "path": {path}}.Encode()), "the list")
		code, text := ann.send("GET", "/act?"+url.Values{"do": {"break"}, "path": {path}}.Encode(), nil)
		require.Equal(t, 200, code, text)
		has(t, text, "Several clients hold", "the page")
		assert.NotContains(t, text, `method="post"`)
		second := held[2+i]
		link := regexp.MustCompile(`href="(/act\?[^"]*item=` + strconv.FormatInt(second.Token(), 10) + `[^"]*)"`).FindStringSubmatch(text)
		require.NotEmpty(t, link, text)
		form, text := ann.open(html.UnescapeString(link[1]))
		has(t, text, "web-2", "the page")
		code, text = ann.send("POST", "/act", form)
		require.Equal(t, 200, code, text)
		<-second.Context().Done()
		require.NoError(t, held[i].Context().Err(), "the other one keeps it")
		code, text = ann.send("POST", "/act", form)
		assert.Equal(t, 409, code)
		assert.Contains(t, text, "another client holds now: nothing was changed")
	}
}

// TestTasksAreCanceledAndRetried, each once, and only from the state that the page shows.
func TestTasksAreCanceledAndRetried(t *testing.T) {
	s := newStage(t)
	const path = "/q"
	queue := dispatch.New(s.actor("client"), path, nil)
	master := dispatch.NewMaster(s.actor("client"), path, nil)
	s.waits(func(ctx context.Context) { _ = master.Run(ctx) })
	worker := dispatch.NewWorker(s.actor("worker"), path, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		if string(a.Payload) == "bad" {
			return nil, errors.New("550 <mailbox> unavailable")
		}
		a.ReportProgress(1, 2, "lines")
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	s.waits(func(ctx context.Context) { _ = worker.Run(ctx) })
	bad := "bad/" + strings.Repeat("x", 150)
	for id, payload := range map[string]string{bad: "bad", "slow": "slow"} {
		_, err := queue.Submit(s.ctx, dispatch.Task{ID: id, Payload: []byte(payload), MaxAttempts: 1})
		require.NoError(t, err)
	}
	_, err := queue.Wait(s.ctx, bad)
	require.NoError(t, err)
	m, _ := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		all := v.Kinds(recognize.Tasks)
		return len(all) == 1 && len(all[0].Tasks.Trouble) == 1 && len(all[0].Tasks.Running) == 1
	})
	ann := s.acting(m, "ann")
	_, page := ann.send("GET", "/tasks", nil)
	for id, do := range map[string]string{bad: "requeue", "slow": "cancel"} {
		link := "/act?" + url.Values{"do": {do}, "path": {path}, "item": {id}}.Encode()
		has(t, page, html.EscapeString(link), "the list")
		form, text := ann.open(link)
		has(t, text, map[string]string{"requeue": "550 &lt;mailbox&gt; unavailable", "cancel": "is never done"}[do], "the page")
		code, text := ann.send("POST", "/act", form)
		require.Equal(t, 200, code, text)
		last := ann.audits[len(ann.audits)-1]
		assert.Equal(t, []string{"ann", do, path, id, "it hangs"}, []string{last.User, last.Action, last.Path, last.Item, last.Reason})
		require.NoError(t, last.Err)
	}
	slow, err := queue.Wait(s.ctx, "slow")
	require.NoError(t, err)
	assert.EqualValues(t, taskformat.Canceled, slow.State)
	assert.Equal(t, "canceled by ann: it hangs", slow.Error)
	again, err := queue.Wait(s.ctx, bad)
	require.NoError(t, err)
	assert.EqualValues(t, taskformat.Dead, again.State, "it was tried once more")

	for _, wrong := range []url.Values{
		{"do": {"cancel"}, "path": {path}, "item": {"slow"}}, {"do": {"requeue"}, "path": {path}, "item": {"other"}},
		{"do": {"requeue"}, "path": {path}}, {"do": {"requeue"}, "path": {"/other"}, "item": {"slow"}},
	} {
		code, text := ann.send("GET", "/act?"+wrong.Encode(), nil)
		assert.Equal(t, 409, code, text)
		assert.NotContains(t, text, `method="post"`)
	}
}

// TestQueueIsPausedAndResumed, each once, and only the pause on the page ends.
func TestQueueIsPausedAndResumed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const path = "/q"
	queue := dispatch.New(s.actor("client"), path, nil)
	_, err := queue.Submit(s.ctx, dispatch.Task{ID: "x"})
	require.NoError(t, err)
	m, _ := s.dashboard("/")
	paused := func(by string) {
		t.Helper()
		s.shows(m, func(v *ui.View) bool {
			all := v.Kinds(recognize.Tasks)
			return len(all) == 1 && (all[0].Tasks.Paused != nil) == (by != "") && (by == "" || all[0].Tasks.Paused.By == by)
		})
	}
	paused("")
	ann := s.acting(m, "ann")
	link := func(do string) string { return "/act?" + url.Values{"do": {do}, "path": {path}}.Encode() }
	act := func(do, says string) url.Values {
		t.Helper()
		_, page := ann.send("GET", "/tasks", nil)
		has(t, page, html.EscapeString(link(do)), "the list")
		form, text := ann.open(link(do))
		has(t, text, says, "the page")
		code, text := ann.send("POST", "/act", form)
		require.Equal(t, 200, code, text)
		last := ann.audits[len(ann.audits)-1]
		assert.Equal(t, []string{"ann", do, path, "it hangs"}, []string{last.User, last.Action, last.Path, last.Reason})
		require.NoError(t, last.Err)
		return form
	}
	refused := func(form url.Values, says string) {
		t.Helper()
		code, text := ann.send("POST", "/act", form)
		assert.Equal(t, 409, code)
		assert.Contains(t, text, says)
		require.Error(t, ann.audits[len(ann.audits)-1].Err)
	}
	form := act("pause", "No task is assigned to a worker")
	st, err := queue.Stats(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, []any{true, "ann", "it hangs"}, []any{st.Paused, st.PausedBy, st.PauseReason})
	paused("ann")
	refused(form, "the queue is paused by ann since")
	form = act("resume", "paused by ann since")
	paused("")
	refused(form, "the queue is not paused: nothing was changed")
	_, err = queue.Pause(s.ctx, "bob", "<script>")
	require.NoError(t, err)
	refused(form, "this pause has ended, and the queue is paused by bob since")
	paused("bob")
	_, text := ann.open(link("resume"))
	has(t, text, "&lt;script&gt;", "the page")
	_, text = ann.send("GET", "/", nil)
	has(t, text, "the queue is paused by bob since ", "the overview")
	has(t, text, "paused: 1 waiting", "the overview")
}

// TestOnlyConfirmedActionsOfUsersChangeSomething.
func TestOnlyConfirmedActionsOfUsersChangeSomething(t *testing.T) {
	s := newStage(t)
	held, err := lock.New(s.actor("web"), "/app/l", nil).Lock(s.ctx)
	require.NoError(t, err)
	_, err = lock.New(s.actor("web"), "/other/l", nil).Lock(s.ctx)
	require.NoError(t, err)
	m, base := s.dashboard("/app")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 1 })
	ann, eve, none := s.acting(m, "ann"), s.acting(m, "eve"), s.acting(m, "")
	form, _ := ann.confirm("break", "/app/l")
	before := s.srv.Dump()
	for name, send := range map[string]func() (int, string){
		"another user":   func() (int, string) { return eve.send("POST", "/act", form) },
		"no user":        func() (int, string) { return none.send("POST", "/act", form) },
		"no user's page": func() (int, string) { return none.send("GET", "/act?do=break&path=/app/l", nil) },
		"by the address": func() (int, string) { return ann.send("POST", "/act?"+form.Encode(), url.Values{}) },
		"by GET":         func() (int, string) { return ann.send("GET", "/act?"+form.Encode(), nil) },
		"by PUT":         func() (int, string) { return ann.send("PUT", "/act", form) },
		"by DELETE":      func() (int, string) { return ann.send("DELETE", "/act", form) },
		"by OPTIONS":     func() (int, string) { return ann.send("OPTIONS", "/act", form) },
		"another page":   func() (int, string) { return ann.send("POST", "/locks", form) },
		"another path":   func() (int, string) { return ann.send("POST", "/act/", form) },
		"two slashes":    func() (int, string) { return ann.send("POST", "//act", form) },
	} {
		code, text := send()
		assert.NotContains(t, text, "Took", name)
		assert.Equal(t, name == "by GET", code == 200, name)
	}
	for _, target := range []url.Values{
		{"do": {"break"}, "path": {"/other/l"}}, {"do": {"break"}, "path": {"/app/../other/l"}}, {"do": {"depose"}, "path": {"/app/l"}}, {"do": {"break"}, "path": {""}}, {"do": {""}, "path": {"/app/l"}},
		{"do": {"rm"}, "path": {"/app/l"}}, {"do": {"break"}, "path": {`"><script>x</script>`}}, {"do": {`"><script>x</script>`}, "path": {"relative"}}, {"do": {"break"}, "path": {"/app/l\x00"}},
	} {
		code, text := ann.send("GET", "/act?"+target.Encode(), nil)
		assert.Equal(t, 409, code, target)
		assert.NotContains(t, text, "<script>x")
		assert.NotContains(t, text, "csrf")
	}
	assert.Equal(t, before, s.srv.Dump())
	require.NoError(t, held.Context().Err())

	// Without actions, there is no way to act.
	code, text, _ := get(t, base+"/act?do=break&path=/app/l")
	assert.Equal(t, 404, code)
	assert.NotContains(t, text, "csrf")
	_, text, _ = get(t, base+"/locks")
	assert.NotContains(t, text, "/act")
	assert.Contains(t, text, "read-only")
	r, err := http.Post(base+"/act", "application/x-www-form-urlencoded", strings.NewReader(form.Encode())) //nolint:noctx // ends with the stage
	require.NoError(t, err)
	_ = r.Body.Close()
	assert.Equal(t, 405, r.StatusCode)
}

// TestActionOutlivesItsBrowser: a confirmed action is carried out and recorded though the
// browser leaves while the form is on its way.
func TestActionOutlivesItsBrowser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	held, err := lock.New(s.actor("web"), "/l", nil).Lock(s.ctx)
	require.NoError(t, err)
	m, _ := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool { return len(v.Things) == 1 })
	ann := s.acting(m, "ann")
	form, _ := ann.confirm("break", "/l")
	gone, leave := context.WithCancel(s.ctx)
	leave()
	r := httptest.NewRequestWithContext(gone, http.MethodPost, "/act", strings.NewReader(form.Encode()))
	r.Host = "127.0.0.1"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ann.handler.ServeHTTP(httptest.NewRecorder(), r)
	require.Len(t, ann.audits, 1)
	require.NoError(t, ann.audits[0].Err)
	<-held.Context().Done()
}
