package ui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// TestRebalanserGroupsAreRecognized in both modes.
func TestRebalanserGroupsAreRecognized(t *testing.T) {
	t.Parallel()
	for mode, name := range map[rebalanser.Mode]string{rebalanser.ResourceBarrier: "resource", rebalanser.GlobalBarrier: "global"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			admin := rebalanser.Open(s.actor("admin"), "/groups/orders", &rebalanser.Options{Mode: mode})
			require.NoError(t, admin.Create(s.ctx))
			var names []string
			for i := range 9 {
				names = append(names, fmt.Sprintf("orders-%d", i))
			}
			_, err := admin.AddResources(s.ctx, names...)
			require.NoError(t, err)
			for i := range 3 {
				id := fmt.Sprintf("consumer-%d", i+1)
				g := rebalanser.New(s.actor(id), "/groups/orders", rebalanser.Each(func(ctx context.Context, _ *rebalanser.Resource) error {
					<-ctx.Done()
					return nil
				}), &rebalanser.Options{Mode: mode, ID: id})
				s.waits(func(ctx context.Context) { _ = g.Run(ctx) })
			}
			m, _ := s.dashboard("/groups")
			var shares *recognize.ShareState
			s.shows(m, func(v *ui.View) bool {
				things := v.Kinds(recognize.Rebalancer)
				if len(things) != 1 || len(things[0].Shares.Members) != 3 || things[0].Worst() != "" {
					return false
				}
				shares = things[0].Shares
				for _, member := range shares.Members {
					if member.Counts()[recognize.Owns] != 3 {
						return false
					}
				}
				return true
			})
			assert.Equal(t, name, shares.Mode)
			assert.Equal(t, names, shares.Resources)
			assert.Empty(t, shares.Moves)
			assert.NotEmpty(t, shares.Coordinator)
			assert.Positive(t, shares.Epoch)
			require.NoError(t, admin.Pause(s.ctx))
			s.shows(m, func(v *ui.View) bool { return v.Kinds(recognize.Rebalancer)[0].Shares.Paused })
		})
	}
}

// TestDispatchQueuesAreRecognized.
func TestDispatchQueuesAreRecognized(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const path = "/queues/mail"
	queue := dispatch.New(s.actor("client"), path, nil)
	master := dispatch.NewMaster(s.actor("client"), path, &dispatch.Options{ID: "master-1"})
	s.waits(func(ctx context.Context) { _ = master.Run(ctx) })
	handler := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		switch string(a.Payload) {
		case "bad":
			return nil, errors.New("550 mailbox unavailable")
		case "slow":
			a.ReportProgress(1000, 2000, "lines")
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte("sent"), nil
	}
	worker := dispatch.NewWorker(s.actor("worker"), path, handler, &dispatch.WorkerOptions{Name: "mailer-1", Concurrency: 2})
	s.waits(func(ctx context.Context) { _ = worker.Run(ctx) })
	id, _, err := queue.SubmitUnique(s.ctx, dispatch.Task{Delay: time.Hour}, "nightly", 0)
	require.NoError(t, err)
	require.NoError(t, queue.Cancel(s.ctx, id))
	for name, every := range map[string]time.Duration{"yearly/report": 365 * 24 * time.Hour, "often": time.Second} {
		task := dispatch.Task{Payload: bytes.Repeat([]byte("x\n"), 50_000), Delay: time.Hour, Labels: []string{"none"}}
		require.NoError(t, queue.SetSchedule(s.ctx, dispatch.Schedule{Name: name, Every: every, Start: time.Now().Add(-time.Minute), Task: task}))
	}
	for i, payload := range []string{"good", "good", "bad", "slow", "slow", "slow", "slow", "slow", "slow", "slow"} {
		id := fmt.Sprintf("mail-%d", i)
		_, err := queue.Submit(s.ctx, dispatch.Task{ID: id, Payload: []byte(payload), MaxAttempts: 1})
		require.NoError(t, err)
		if payload != "slow" {
			_, err = queue.Wait(s.ctx, id)
			require.NoError(t, err)
		}
	}
	m, url := s.dashboard("/queues")
	stats, err := queue.Stats(s.ctx)
	require.NoError(t, err)
	var thing *recognize.Thing
	s.shows(m, func(v *ui.View) bool {
		things := v.Kinds(recognize.Tasks)
		if len(things) != 1 {
			return false
		}
		thing = things[0]
		// Of the changes of one transaction, a view may show the second first.
		if len(thing.Tasks.Workers) != 1 || thing.Tasks.Workers[0].Assigned != thing.Tasks.Counts["assigned"] ||
			len(thing.Tasks.Schedules) != 2 || thing.Tasks.Schedules[0].Last.IsZero() {
			return false
		}
		return thing.Tasks.Counts["assigned"] >= 2 && thing.Tasks.Counts["waiting"]+thing.Tasks.Counts["assigned"] == 8 && len(thing.Tasks.Running) > 0
	})
	text, _ := json.Marshal(stats)
	assert.Equal(t, 2, thing.Tasks.Counts["done"], "%s", text)
	assert.Equal(t, 1, thing.Tasks.Counts["dead"])
	assert.Equal(t, "master-1", thing.Tasks.Master)
	assert.True(t, thing.Tasks.Open)
	require.Len(t, thing.Tasks.Workers, 1)
	assert.Equal(t, "mailer-1", thing.Tasks.Workers[0].Name)
	assert.Equal(t, 2, thing.Tasks.Workers[0].Concurrency)
	assert.Equal(t, thing.Tasks.Counts["assigned"], thing.Tasks.Workers[0].Assigned)
	assert.Equal(t, 1, thing.Tasks.Keys)
	require.Len(t, thing.Tasks.Schedules, 2)
	often, yearly := thing.Tasks.Schedules[0], thing.Tasks.Schedules[1]
	assert.Equal(t, []string{"often", "1s", path + "/schedules/often"}, []string{often.Name, often.Every, often.Path})
	assert.Equal(t, "often@"+often.Last.Format(time.RFC3339Nano), often.LastTask)
	assert.WithinDuration(t, time.Now(), often.Last, limit)
	assert.True(t, often.Next.After(often.Last))
	assert.Equal(t, []string{"yearly/report", "8760h0m0s"}, []string{yearly.Name, yearly.Every})
	assert.Zero(t, yearly.Last)
	assert.WithinDuration(t, time.Now().AddDate(0, 0, 365), yearly.Next, time.Hour)
	_, page, _ := get(t, url+"/tasks")
	for _, want := range []string{"often", "yearly/report", "8760h0m0s", yearly.Next.Local().Format("2006-01-02 15:04")} {
		has(t, page, want, "the page of the tasks")
	}
	one := thing.Tasks.Running[0]
	assert.WithinDuration(t, time.Now(), one.Reported, limit)
	assert.Contains(t, one.Path, path+"/workers/mailer-1~")
	assert.Contains(t, one.ID, "mail-")
	assert.Equal(t, one.ID, one.Whole)
	one.Path, one.ID, one.Whole, one.Reported = "", "", "", time.Time{}
	assert.Equal(t, recognize.RunningTask{Worker: "mailer-1", Done: 1000, Total: 2000, Note: "lines"}, one)
	require.Len(t, thing.Tasks.Trouble, 1)
	assert.Equal(t, "mail-2", thing.Tasks.Trouble[0].ID)
	assert.Contains(t, thing.Tasks.Trouble[0].Error, "550")
	assert.WithinDuration(t, time.Now(), thing.Tasks.Trouble[0].Ended, limit)
}
