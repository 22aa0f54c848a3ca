package cluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/web"
)

// Handler answers requests to a node:
//
//	GET  /status          the node's own state
//	GET  /cluster/status  the leader: the state of the cluster; others: 400
//	POST /control/kill    ends the process by die, as a crash would
//	POST /control/resign  the leader steps down; others: 409
//
// The last two must be signed with the secret; without one they are refused.
func (n *Node) Handler(secret Secret, die func()) http.Handler {
	door := newPorter(secret, n.name, time.Now())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, n.Status())
	})
	mux.HandleFunc("GET /cluster/status", func(w http.ResponseWriter, r *http.Request) {
		s, err := n.Summary(r.Context())
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		writeJSON(w, http.StatusOK, s)
	})
	mux.Handle("POST /control/kill", heeds(door, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush() // the last words
		die()
	}))
	mux.Handle("POST /control/resign", heeds(door, func(w http.ResponseWriter) {
		if !n.Resign() {
			refuse(w, http.StatusConflict, errNotLeading)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	return web.Guard(web.Hosts{Remote: true}, mux)
}

var (
	errSecret  = errors.New("orders need the right token")
	errForeign = errors.New("orders are not taken from other pages")
)

// heeds carries out the orders admitted by the porter.
func heeds(door *porter, do func(http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case foreign(r):
			refuse(w, http.StatusForbidden, errForeign)
		case !door.admits(r, time.Now()):
			refuse(w, http.StatusForbidden, errSecret)
		default:
			do(w)
		}
	})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a disconnected client needs no answer
}

func refuse(w http.ResponseWriter, code int, err error) {
	writeJSON(w, code, struct {
		Error string `json:"error"`
	}{err.Error()})
}
