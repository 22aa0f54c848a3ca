package dispatch_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// Very many tasks without a suitable worker wait (with ZKTEST_SEEDS a hundred
// thousand); a master takes over, and other tasks are done as fast as ever.
func TestManyTasksWait(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	n := 20_000
	switch {
	case testing.Short():
		n = 3_000
	case world.Seeds(0) > 0:
		n = 100_000
	}
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		q := dispatch.New(c, path, &dispatch.Options{MaxTasks: n + 1000})
		w.submit(q, dispatch.Task{ID: "template", Labels: []string{"rare"}, Priority: 1})
		w.flood(n)
		mc := w.Client()
		began := time.Now()
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.worker(echo, &dispatch.WorkerOptions{Concurrency: 8})
		id := w.submit(q, dispatch.Task{Payload: []byte("x")})
		w.collect(q, id)
		t.Logf("%d tasks: the first is done after %d requests of the master", n, w.Requests(mc))
		require.Less(w, w.Requests(mc), n+600)
		w.ResetStats()
		w.countBeats()
		for i := range 500 {
			require.Equal(w, dispatch.State("done"), w.collect(q, w.submit(q, numbered(i))).State)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Less(w, w.Requests(mc)-w.beats[w.ID(mc)], 500*5)
		require.Less(w, time.Since(began), time.Minute)
	})
}

// flood makes n copies of the task "template", bypassing the protocol.
func (w *World) flood(n int) {
	w.Helper()
	bucket := func(id string) string { return fmt.Sprintf("%02x", sha256.Sum256([]byte(id))[0]) }
	like, err := w.Server.Get(path + "/tasks/" + bucket("template") + "/template")
	require.NoError(w, err)
	_, run, _ := strings.Cut(w.Children(path + "/data/" + bucket("template"))[0], "~")
	made := map[string]bool{bucket("template"): true}
	for i := range n {
		id := fmt.Sprintf("waits-%06d", i)
		at := bucket(id)
		for _, dir := range []string{"/tasks/", "/data/", "/results/"} {
			if !made[at] {
				require.NoError(w, w.Server.Create(path+dir+at, nil))
			}
		}
		made[at] = true
		data := strings.Replace(string(like.Data), `"template"`, `"`+id+`"`, 1)
		require.NoError(w, w.Server.Create(path+"/tasks/"+at+"/"+id, []byte(data)))
		require.NoError(w, w.Server.Create(path+"/data/"+at+"/"+id+"~"+run, nil))
	}
}
