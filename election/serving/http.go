package serving

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// LeaderHeader is the name of the header with the leader's address in the response to a
// refused request; see [Options.Address].
const LeaderHeader = "Leader-Address"

// Handler returns a handler that passes requests on to next while this process leads. The
// context of a request is that of [Leader.Admit].
//
// Other requests get the response 503 with Retry-After ([Options.RetryAfter]) and, if it is
// known, [LeaderHeader]; next is not called. The connection is closed, so that a client
// behind a load balancer may reach another instance with its next request.
//
// Put handlers that all instances serve, such as probes, beside Handler, not inside.
func (l *Leader) Handler(next http.Handler) http.Handler {
	l = receiver.OrZero(l)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if next == nil {
			http.Error(w, "serving: the handler is nil", http.StatusInternalServerError)
			return
		}
		ctx, done, err := l.Admit(r.Context())
		if err != nil {
			l.refuse(w, err)
			return
		}
		defer done()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// refuse sends the response to a request that was not admitted.
func (l *Leader) refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, ErrInvalidArgument) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	h.Set("Retry-After", strconv.FormatInt(int64((l.opts.RetryAfter+time.Second-1)/time.Second), 10))
	if address := l.Address(); address != "" {
		h.Set(LeaderHeader, address)
	}
	http.Error(w, ErrNotLeading.Error(), http.StatusServiceUnavailable)
}
