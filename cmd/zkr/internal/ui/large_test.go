package ui_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// The numbers of znodes of the large stage.
const (
	largeLocks, largeQueue        = 200, 20
	largeServices, largeInstances = 50, 20
	largeNodes                    = 10_000
)

// contenderName is the name of a lock's n-th contender.
func contenderName(lock, n int) string {
	return fmt.Sprintf("/large/locks/lock-%03d/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", lock, lock, n)
}

// large puts ten thousand znodes on the stage: locks with queues, services, and
// plain znodes.
func (s *stage) large() {
	s.Helper()
	for _, dir := range []string{"locks", "services", "plain"} {
		s.put("/large/"+dir, "")
	}
	n := 0
	for i := range largeLocks {
		require.NoError(s, s.srv.Create(fmt.Sprintf("/large/locks/lock-%03d", i), nil))
		for k := range largeQueue {
			s.ephemeral(fmt.Sprintf("actor-%d", k), contenderName(i, k), fmt.Sprintf("worker-%d-of-%03d", k, i))
		}
		n += 1 + largeQueue
	}
	for i := range largeServices {
		name := fmt.Sprintf("service-%02d", i)
		require.NoError(s, s.srv.Create("/large/services/"+name, nil))
		for k := range largeInstances {
			id := fmt.Sprintf("%s-%02d", name, k)
			record, err := json.Marshal(map[string]any{"name": name, "id": id, "address": fmt.Sprintf("10.0.%d.%d", i, k), "port": 8080, "serviceType": "DYNAMIC", "registrationTimeUTC": 1_700_000_000_000})
			require.NoError(s, err)
			s.ephemeral(fmt.Sprintf("actor-%d", k), "/large/services/"+name+"/"+id, string(record))
		}
		n += 1 + largeInstances
	}
	for i := 0; n < largeNodes; i++ {
		if i%100 == 0 {
			require.NoError(s, s.srv.Create(fmt.Sprintf("/large/plain/d%02d", i/100), nil))
			n++
		}
		require.NoError(s, s.srv.Create(fmt.Sprintf("/large/plain/d%02d/n%02d", i/100, i%100), []byte("some unknown data")))
		n++
	}
}

// generous bounds work that should take a second: the test machine may be slow
// or busy. The test also bounds the size of the page, independently of the
// machine.
const generous = 20 * time.Second

// TestTenThousandZnodesInABrowser: pages load, change, scroll and filter as fast as
// pages of a small tree.
func TestTenThousandZnodesInABrowser(t *testing.T) {
	b := browser.Require(t)
	s := newStage(t)
	s.large()
	m, url := s.dashboard("/")
	s.shows(m, func(v *ui.View) bool {
		return v.Nodes > largeNodes && len(v.Kinds(recognize.Mutex)) == largeLocks && len(v.Kinds(recognize.Service)) == largeServices
	})
	p := b.Page(t, 1280, 800)
	loads(t, p, url)
	p.Open(url + "/locks")
	p.Until(isLive)
	p.Eval(`window.tasks = []; new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration))).observe({type: "longtask"})`)
	t.Run("a change is shown at once", func(t *testing.T) { turns(t, s, p) })
	t.Run("scrolling is smooth", func(t *testing.T) { scrolls(t, p) })
	t.Run("so is typing", func(t *testing.T) { types(t, p) })
	longest, err := strconv.ParseFloat(p.Eval("Math.max(0, ...tasks)"), 64)
	require.NoError(t, err)
	t.Logf("the longest task of the page: %.0f ms", longest)
	assert.Less(t, longest, float64(generous.Milliseconds()), "nothing keeps the page from its reader")
}

// loads opens pages, and wants each in a second, and to be of a bounded size.
func loads(t *testing.T, p *browser.Page, url string) {
	for _, path := range []string{"/", "/locks", "/services"} {
		var took []float64
		for range 2 {
			p.Open(url + path)
			ms, err := strconv.ParseFloat(p.Eval("performance.getEntriesByType('navigation')[0].loadEventEnd"), 64)
			require.NoError(t, err)
			took = append(took, ms)
		}
		slices.Sort(took)
		_, text, _ := get(t, url+path)
		elements, err := strconv.Atoi(p.Eval("document.querySelectorAll('*').length"))
		require.NoError(t, err)
		t.Logf("%s: loaded in %.0f and %.0f ms, %d kB, %d elements", path, took[0], took[1], len(text)/1000, elements)
		assert.Positive(t, took[0])
		assert.Less(t, elements, 15_000, path)
		assert.Less(t, took[0], float64(generous.Milliseconds()), path)
		assert.Less(t, len(text), 600_000, path)
	}
	_, text, _ := get(t, url+"/locks")
	has(t, text, "of 200", "the rest has pages of its own")
}

// turns lets holders go, and waits until the next ones are shown to hold.
func turns(t *testing.T, s *stage, p *browser.Page) {
	var took []time.Duration
	for k := range 3 {
		begin := time.Now()
		require.NoError(t, s.srv.Delete(contenderName(0, k)))
		p.Until(fmt.Sprintf(`document.querySelector('[data-key="mutex /large/locks/lock-000"] .entry')?.innerText.includes("held by worker-%d-of-000")`, k+1))
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	t.Logf("a change was shown in %v (median of 3, at most %v)", took[1], took[2])
	assert.Less(t, took[0], generous)
}

// scrolls goes through the page for a second, frame by frame.
func scrolls(t *testing.T, p *browser.Page) {
	p.Eval(`window.frames_ = [];
		const scroll = (at) => {
			frames_.push(at);
			scrollBy(0, 120);
			if (at - frames_[0] < 1000) requestAnimationFrame(scroll);
			else window.scrolled = true;
		};
		requestAnimationFrame(scroll)`)
	p.Until("window.scrolled")
	gap, err := strconv.ParseFloat(p.Eval("Math.max(...frames_.slice(1).map((at, i) => at - frames_[i]))"), 64)
	require.NoError(t, err)
	t.Logf("scrolling: %s frames in a second, the longest gap %.0f ms", p.Eval("frames_.length"), gap)
	assert.Less(t, gap, float64(generous.Milliseconds()))
}

// types types into the filter: each letter appears at once, and the matches
// soon.
func types(t *testing.T, p *browser.Page) {
	p.Press("/")
	var slowest time.Duration
	begin := time.Now()
	text := ""
	for _, letter := range "lock-150" {
		pressed := time.Now()
		p.Press(string(letter))
		text += string(letter)
		require.Equal(t, text, p.Eval("document.querySelector('#filter').value"))
		slowest = max(slowest, time.Since(pressed))
	}
	p.Until("document.querySelectorAll('article').length === 1")
	t.Logf("typing: a letter was there in %v at most; what fits, after %v", slowest, time.Since(begin))
	assert.Less(t, slowest, generous)
	assert.Less(t, time.Since(begin), 3*generous)
}
