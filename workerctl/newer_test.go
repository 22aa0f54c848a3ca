package workerctl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// data is the data of the znode at path.
func (w *World) data(path string) string {
	w.Helper()
	n, err := w.Server.Get(path)
	require.NoError(w, err)
	return string(n.Data)
}

// add adds fields to the JSON object at path.
func (w *World) add(path, fields string) {
	w.Helper()
	require.NoError(w, w.Server.Set(path, []byte(strings.TrimSuffix(w.data(path), "}")+","+fields+"}")))
}

// Records carry a format, and keep the fields added by a newer version.
func TestFieldsOfANewerVersionAreKept(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		k := w.crew(2)[1]
		state, member := runOf(k)+"/state", runOf(k)+"/members/1"
		require.Contains(w, w.data(state), `"format":1`)
		require.Contains(w, w.data(member), `"format":1`)
		w.add(state, `"queue":{"x":[1]}`)
		w.add(member, `"gpu":"a100"`)
		again := w.join(w.attach(w.Client()), nth(1))
		require.NoError(w, again.Update(w.Ctx, map[string]string{"a": "b"}))
		require.NoError(w, j.Scale(w.Ctx, 4))
		w.leave(again)
		require.Contains(w, w.data(state), `"queue":{"x":[1]}`)
		require.Contains(w, w.data(member), `"gpu":"a100"`)
	})
}

// A record of a newer format is refused, by name, and left alone.
func TestRecordOfANewerFormatIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		k := w.crew(1)[0]
		const newer = `{"format":2,"state":["running"],"name":7}`
		for _, path := range []string{runOf(k) + "/members/0", runOf(k) + "/state", path} {
			require.NoError(w, w.Server.Set(path, []byte(newer)))
		}
		_, attach := workerctl.Attach(w.Ctx, w.Client(), "words", nil)
		_, join := j.Join(w.Within(time.Minute), nth(1))
		_, submit := workerctl.Submit(w.Within(time.Minute), w.Client(), workerctl.Spec{Name: "words", Workers: 1}, nil)
		for name, err := range map[string]error{"Attach": attach, "Join": join, "Submit": submit, "Kill": j.Kill(w.Within(time.Minute))} {
			require.ErrorIs(w, err, workerctl.ErrRecord, name)
			require.ErrorContains(w, err, "format 2, this version supports", name)
		}
		require.Equal(w, newer, w.data(runOf(k)+"/state"))
	})
}

// A job whose status is garbage can be killed, and its name used again.
func TestJobWithGarbageInItsStatusCanBeKilled(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		j := w.submit(w.Client(), 3)
		k := w.crew(1)[0]
		require.NoError(w, w.Server.Set(runOf(k)+"/state", []byte("garbage")))
		_, err := j.Join(w.Within(time.Minute), nth(1))
		require.ErrorIs(w, err, workerctl.ErrRecord)
		require.NoError(w, w.attach(w.Client()).Kill(w.Within(time.Minute)))
		w.removed()
		w.submit(w.Client(), 1)
	})
}

// A job whose own record is garbage says how to use its name again.
func TestJobWithGarbageInItsRecordSaysTheWayOut(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 3)
		require.NoError(w, w.Server.Set(path, []byte("garbage")))
		_, attach := workerctl.Attach(w.Ctx, w.Client(), "words", nil)
		_, submit := workerctl.Submit(w.Within(time.Minute), w.Client(), workerctl.Spec{Name: "words", Workers: 1}, nil)
		for _, err := range []error{attach, submit} {
			require.ErrorIs(w, err, workerctl.ErrRecord)
			require.ErrorContains(w, err, path+": ")
			require.ErrorContains(w, err, "deletes the znode with everything below it")
		}
		require.NoError(w, w.Server.DeleteAll(path))
		w.submit(w.Client(), 1)
	})
}
