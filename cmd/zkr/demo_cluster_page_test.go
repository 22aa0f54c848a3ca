//go:build unix

package main

import (
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/browser"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
)

// clusterPicture is the picture in docs/demo.md; -update takes a new picture.
const clusterPicture = "../../docs/images/demo-cluster.png"

// A page shows a change within promptly; a busy machine may need the limit for some.
const promptly, promptlyLimit = 3 * time.Second, 30 * time.Second

// TestClusterInABrowser starts one browser for all pages.
func TestClusterInABrowser(t *testing.T) {
	t.Parallel()
	b := browser.Require(t)
	t.Run("live", func(t *testing.T) { liveInABrowser(t, b) })
	t.Run("orders", func(t *testing.T) { ordersInABrowser(t, b) })
}

// liveInABrowser: the page is live, its buttons work, and the page shows the
// fate of the leader. The console stays silent, which the browser checks.
//
// D11, D12, D13, D14
func liveInABrowser(t *testing.T, b *browser.Browser) {
	t.Parallel()
	args := append(calm, "--nodes", "4")
	if *update {
		args = args[len(calm):] // the picture shows the defaults
	}
	c := startCluster(t, nil, args...)
	v := c.settled(4)
	p := b.Page(t, 1280, 860)
	p.Open(c.page)
	p.Until(`document.body.dataset.stream === "open"`)
	row := func(name string) string { return `document.querySelector('tr[data-node="` + name + `"]')` }
	button := func(name string, what cluster.Order) string {
		return `tr[data-node="` + name + `"] form[action$="/` + string(what) + `"] button`
	}
	p.Until(row("n1") + `.dataset.role === "leader"`)
	for _, r := range v.Rows {
		assert.Contains(t, p.Text(`tr[data-node="`+r.Name+`"]`), r.Address)
	}
	assert.Contains(t, p.Eval(row("n2")+`.querySelector(".watched code").title`), "latch-0000000000")

	// A worker is killed by a click: the row says so within a moment, and the
	// next worker closes the gap. After a restart the worker is the last.
	p.Click(button("n3", cluster.Kill))
	shown := []time.Duration{p.Until(row("n3") + `.innerText.includes("dead")`)}
	p.Until(row("n4") + `.querySelector(".watched code").title.endsWith("latch-0000000001")`)
	assert.Equal(t, "leader", p.Eval(row("n1")+`.dataset.role`), "the leader still answers")
	p.Click(button("n3", cluster.Start))
	p.Until(`[...document.querySelectorAll("tr[data-node]")].at(-1).dataset.node === "n3" && ` + row("n3") + `.dataset.role === "worker"`)

	// The leader is cut off, and reports the end of its service.
	p.Click(button("n1", cluster.Cut))
	shown = append(shown, p.Until(row("n1")+`.innerText.includes("cut off")`))
	p.Until(row("n2") + `.dataset.role === "leader"`)
	p.Until(`/stopped [0-9.]+ ms before/.test(document.querySelector("#failovers")?.innerText)`)
	p.Until(`document.querySelector('[data-trust="n1"]').innerText.includes("stopped serving at")`)
	p.Click(button("n1", cluster.Heal))
	p.Until(row("n1") + `.dataset.role === "worker"`)

	// The leader is killed: no node leads for a while, then the next node leads,
	// and the duration is on the page.
	p.Click(button("n2", cluster.Kill))
	p.Until(`document.querySelector(".live").innerText.includes("no leader")`)
	p.Until(row("n4") + `.dataset.role === "leader" && document.querySelector("#last-failover").innerText.endsWith(" ms")`)
	p.Until(`document.querySelector("#failovers").innerText.includes("n2 → n4")`)
	p.Click(button("n3", cluster.Freeze))
	shown = append(shown, p.Until(row("n3")+`.innerText.includes("frozen")`))
	assert.Less(t, slices.Min(shown), promptly)
	assert.Less(t, slices.Max(shown), promptlyLimit)
	p.Until(row("n3") + `.innerText.includes("no answer") || ` + row("n3") + `.dataset.role === "joining"`)
	if *update {
		// The page frames each change for a moment; the picture is to show no frame.
		p.Eval(`document.styleSheets[0].insertRule(".changed > .card { animation: none !important }", document.styleSheets[0].cssRules.length)`)
		require.NoError(t, os.WriteFile(clusterPicture, p.Screenshot(), 0o600))
	}
	p.Click("button.add")
	p.Until(row("n5") + `?.dataset.role === "worker"`)
	p.Dark(true)
	p.Size(420, 800)
	p.Until(`document.documentElement.scrollWidth <= 420`)

	// Without scripts the same buttons are forms that return to the page.
	p.Scripts(false)
	p.Open(c.page + "/index")
	p.Click(button("n5", cluster.Kill))
	p.Until(`location.pathname === "/"`)
	c.sees(func(v clusterView) bool { return rowOf(v, "n5").Process.State == "exited" }, "n5 dead")
	assert.Equal(t, http.StatusOK, fetch(t, c.page+"/cluster/summary", nil))
}

// ordersInABrowser, of a keyboard and of a reader: a refused order gives its
// reason in a line that is read out, and the focus stays with the node of the
// pressed button, also when the table is redrawn, and when the button has gone.
func ordersInABrowser(t *testing.T, b *browser.Browser) {
	t.Parallel()
	c := startCluster(t, nil, append(lasting, "--nodes", "3")...)
	token := c.token()
	c.settled(3)
	p := b.Page(t, 1280, 860)
	p.Open(c.page)
	p.Until(`document.body.dataset.stream === "open"`)
	const notice = `document.querySelector("#notice")`
	assert.Equal(t, "polite", p.Eval(notice+`.ariaLive`))
	assert.Empty(t, p.Eval(notice+`.textContent`))

	// The button is out of date: another client was faster.
	p.Eval(`(document.querySelector("#freeze-n3").form.action = "/nodes/n3/resume", "")`)
	p.Click("#freeze-n3")
	p.Until(notice + `.textContent === "Freeze n3: the state of the node does not allow this order"`)
	p.Until(notice + `.getBoundingClientRect().height > 10`)
	var complaints []string
	eventually(t, func() bool { complaints = append(complaints, p.Complaints()...); return len(complaints) > 0 }, "the browser tells of the refusal, too")
	assert.Len(t, complaints, 1)
	assert.Contains(t, complaints[0], "409")

	// The order of another client redraws the table: the focus stays.
	updates := p.Eval(`document.body.dataset.updates`)
	c.order(token, "/nodes/n2/cut")
	p.Until(`document.querySelector("#heal-n2") && document.body.dataset.updates !== "` + updates + `"`)
	assert.Equal(t, "freeze-n3", p.Eval(`document.activeElement.id`))
	c.order(token, "/nodes/n2/heal")

	// By the keyboard alone: the button goes, and the node's next button has the
	// focus.
	p.Until(`document.activeElement.id === "freeze-n3" && document.activeElement.form.action.endsWith("freeze")`)
	p.Press("\r")
	p.Until(`document.querySelector("#resume-n3") && document.activeElement.id === "resume-n3"`)
	assert.Empty(t, p.Eval(notice+`.textContent`), "the earlier problem is not shown any more")
	p.Press("\r")
	p.Until(`document.querySelector("#freeze-n3") && document.activeElement.closest("[data-node]").dataset.node === "n3"`)

	// A focus elsewhere stays elsewhere.
	p.Click("h1")
	c.order(token, "/nodes/n3/freeze")
	p.Until(`document.querySelector("#resume-n3")`)
	assert.Equal(t, "BODY", p.Eval(`document.activeElement.tagName`))

	// The table is redrawn between the press and the release of a button: what was pressed
	// is done, and the change is shown afterwards.
	other := b.Page(t, 1280, 860)
	other.Open(c.page)
	other.Until(`document.querySelector("#resume-n3")`)
	release := p.Hold("#freeze-n2")
	c.order(token, "/nodes/n3/resume")
	other.Until(`document.querySelector("#freeze-n3")`)
	release()
	p.Until(`document.querySelector("#freeze-n3") && document.querySelector("#resume-n2")`)
}
