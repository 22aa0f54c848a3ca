package cache

import "github.com/zkrecipes/zkrecipes/session"

// watches are the one-shot watches that a view's reads have left behind, of a
// node's data and of its list of children.
type watches map[*node]*[2]*session.Watch

// keepWatch notes the watch that came with the answer to req.
func (r *runner[T]) keepWatch(req request, w *session.Watch) {
	if req.n.gone || req.gen != r.machine.gen {
		w.Stop()
		return
	}
	both := r.watches[req.n]
	if both == nil {
		both = new([2]*session.Watch)
		r.watches[req.n] = both
	}
	at := &both[0]
	if req.op == opList {
		at = &both[1]
	}
	if *at != nil {
		(*at).Stop() // it has fired, usually
	}
	*at = w
}

// stop gives up the watches of nodes.
func (ws watches) stop(nodes []*node) {
	for _, n := range nodes {
		ws.stopBoth(ws[n])
		delete(ws, n)
	}
}

func (ws watches) stopAll() {
	for _, both := range ws {
		ws.stopBoth(both)
	}
	clear(ws)
}

func (watches) stopBoth(both *[2]*session.Watch) {
	if both == nil {
		return
	}
	for _, w := range both {
		if w != nil {
			w.Stop()
		}
	}
}
