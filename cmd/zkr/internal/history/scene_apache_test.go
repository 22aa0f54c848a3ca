package history_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

var update = flag.Bool("update", false, "write the golden files: the logs of the scene on a real server, and its history") // read only

// cable is a network that can be cut for good.
type cable struct {
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (c *cable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut && err == nil {
		return nil, errors.Join(errors.New("the cable is cut"), conn.Close())
	}
	c.conns = append(c.conns, conn)
	return conn, err
}

func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// scene has what is played on a server.
type scene struct {
	*testing.T
	ctx     context.Context
	end     context.CancelFunc // of ctx
	connect string
}

// startScene starts a server of its own, whose files are below dir. The caller ends the scene.
func startScene(t *testing.T, dir string) (*scene, *apache.Cluster) {
	t.Helper()
	cluster := apache.Require(t, &apache.Options{Mode: apache.Jars, Own: true, Dir: dir, Config: map[string]string{"preAllocSize": "8"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	return &scene{T: t, ctx: ctx, end: cancel, connect: cluster.Connect()}, cluster
}

func (s *scene) client(dialer *cable) *session.Client {
	// A machine that stalls costs no session, except the sessions that are meant to expire.
	o := &session.Options{Timeout: 30 * time.Second}
	if dialer != nil {
		o.Timeout, o.TickTime, o.Dialer = 4*time.Second, 200*time.Millisecond, dialer.dial
	}
	c, err := session.Connect(s.ctx, s.connect, o)
	require.NoError(s, err)
	if dialer == nil {
		s.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	return c
}

func (s *scene) ok(err error) {
	s.Helper()
	require.NoError(s, err)
}

// await waits until a path has n children.
func (s *scene) await(c *session.Client, path string, n int) {
	s.Helper()
	require.Eventually(s, func() bool {
		sess, err := c.Session(s.ctx)
		s.ok(err)
		names, _, err := sess.Children(s.ctx, path)
		return err == nil && len(names) == n
	}, 30*time.Second, 10*time.Millisecond)
}

// play makes each kind of end: released, closed, expired, removed by another, and the role
// changed; and a wait without a grant.
func (s *scene) play() {
	admin := s.client(nil)
	s.playMutex(admin)
	s.playReaders()
	leader := s.client(nil)
	l, err := election.New(leader, "/leader", &election.Options{ID: "a"}).Campaign(s.ctx)
	s.ok(err)
	_ = l
	s.ok(leader.Close(s.ctx))
	reg, err := discovery.NewRegistry(admin, "/services", nil).Register(s.ctx, discovery.Instance{Service: "web", ID: "web-1", Address: "10.0.0.7", Port: 8080})
	s.ok(err)
	s.ok(reg.Unregister(s.ctx))
	group := discovery.NewGroup(admin, "/crew", nil)
	_, err = group.Join(s.ctx, "ann", nil)
	s.ok(err)
}

func (s *scene) playMutex(admin *session.Client) {
	const path = "/locks/report"
	mutex := func(c *session.Client, id string) *lock.Mutex { return lock.New(c, path, &lock.Options{ID: id}) }
	one, err := mutex(s.client(nil), "one").Lock(s.ctx)
	s.ok(err)
	cut := &cable{}
	queue := func(c *session.Client, id string, place int) <-chan *lock.Held {
		out := make(chan *lock.Held, 1)
		// Waited for by the scene; ends with the lock or the test.
		go func() {
			if h, err := mutex(c, id).Lock(s.ctx); err == nil {
				out <- h
			}
		}()
		s.await(admin, path, place)
		return out
	}
	two := queue(s.client(cut), "two", 2)
	short, cancel := context.WithTimeout(s.ctx, 300*time.Millisecond)
	defer cancel()
	_, err = mutex(s.client(nil), "impatient").Lock(short)
	require.ErrorIs(s, err, context.DeadlineExceeded)
	s.await(admin, path, 2)
	three := queue(s.client(nil), "three", 3)
	s.ok(one.Unlock(s.ctx))
	<-two
	cut.sever() // its session expires
	<-three
	holder, err := mutex(admin, "").Contenders(s.ctx)
	s.ok(err)
	four := queue(s.client(nil), "four", 2)
	sess, err := admin.Session(s.ctx)
	s.ok(err)
	s.ok(sess.Delete(s.ctx, holder[0].Path, -1))
	s.ok((<-four).Unlock(s.ctx))
}

func (s *scene) playReaders() {
	w, err := rwlock.New(s.client(nil), "/locks/catalog", &rwlock.Options{ID: "editor"}).Lock(s.ctx)
	s.ok(err)
	r, err := w.Downgrade(s.ctx)
	s.ok(err)
	s.ok(r.Unlock(s.ctx))
}

// files are the folder of the only server of a cluster started with Dir = dir.
func files(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "zktest-*", "1", "data"))
	require.NoError(t, err)
	if len(found) == 0 {
		found, err = filepath.Glob(filepath.Join(dir, "zktest-*", "0", "data"))
		require.NoError(t, err)
	}
	require.Len(t, found, 1)
	return found[0]
}

// The history of a scene on a real server is what was played, also from the files of the
// running server and from a snapshot in the middle.
func TestSceneOnApache(t *testing.T) {
	dir := t.TempDir()
	s, _ := startScene(t, dir)
	defer s.end()
	s.play()
	data := files(t, dir)
	f, err := txnlog.OpenFolder("server", data)
	require.NoError(t, err)
	outline := read(t, "/", f).outline()
	if *update {
		keepScene(t, f)
		require.NoError(t, os.WriteFile(sceneGolden, []byte(outline), 0o600))
	}
	golden, err := os.ReadFile(sceneGolden)
	require.NoError(t, err)
	require.Equal(t, string(golden), outline)
}

// After a purge the oldest snapshot is in the middle of the history: what was held there was
// granted before, and ends are told as ever.
func TestHistoryBeginsWithASnapshotOnApache(t *testing.T) {
	dir := t.TempDir()
	s, cluster := startScene(t, dir)
	defer s.end()
	ctx := s.ctx
	one, err := lock.New(s.client(nil), "/locks/report", &lock.Options{ID: "one"}).Lock(ctx)
	s.ok(err)
	next := make(chan *lock.Held, 1)
	admin := s.client(nil)
	// Waited for below; ends with the lock.
	go func() {
		h, _ := lock.New(admin, "/locks/report", &lock.Options{ID: "two"}).Lock(ctx)
		next <- h
	}()
	s.await(admin, "/locks/report", 2)
	s.ok(cluster.Restart(ctx, 0)) // takes a snapshot
	s.await(admin, "/locks/report", 2)
	s.ok(one.Unlock(ctx))
	h := <-next
	require.NotNil(t, h)
	s.ok(h.Unlock(ctx))
	all, err := txnlog.OpenFolder("server", files(t, dir))
	s.ok(err)
	require.GreaterOrEqual(t, len(all.Logs), 2)
	purged := t.TempDir()
	for _, file := range []txnlog.File{all.Logs[len(all.Logs)-1], all.Snapshots[len(all.Snapshots)-1]} {
		b, err := os.ReadFile(file.Path)
		s.ok(err)
		s.ok(os.WriteFile(filepath.Join(purged, filepath.Base(file.Path)), b, 0o600))
	}
	f, err := txnlog.OpenFolder("server", purged)
	s.ok(err)
	d := read(t, "/locks", f)
	require.NotEmpty(t, d.sum.Snapshot)
	require.Equal(t, "mutex /locks/report: one holds, granted, released\nmutex /locks/report: two holds, granted, released\n", d.outline())
	require.True(t, d.stays[0].Before)
	require.False(t, d.stays[1].Before)
	require.Equal(t, d.stays[0].Ended, d.stays[1].Granted, "one transaction ends a hold and begins the next")
	require.True(t, d.stays[1].Entered.Time.Before(d.sum.First.Time))
	whole := read(t, "/locks", all)
	require.False(t, whole.stays[0].Before)
	require.Equal(t, whole.stays[1].Entered, d.stays[1].Entered)

	// Without the snapshot, the holder is unknown.
	s.ok(os.Remove(f.Snapshots[0].Path))
	s.ok(f.Refresh())
	_, err = history.NewReader(t.Context(), "/locks", []*txnlog.Folder{f}, nil)
	require.ErrorIs(t, err, history.ErrNoStart)
}

// keepScene copies the logs without their empty ends.
func keepScene(t *testing.T, f *txnlog.Folder) {
	t.Helper()
	require.NoError(t, os.RemoveAll("testdata/scene"))
	require.NoError(t, os.MkdirAll("testdata/scene", 0o755))
	for _, file := range append(f.Logs, f.Snapshots...) {
		b, err := os.ReadFile(file.Path)
		require.NoError(t, err)
		if strings.HasPrefix(filepath.Base(file.Path), "log.") {
			b = append(bytes.TrimRight(b, "\x00"), make([]byte, 16)...)
		}
		require.NoError(t, os.WriteFile(filepath.Join("testdata/scene", filepath.Base(file.Path)), b, 0o600))
	}
	fmt.Println("testdata/scene has been written")
}
