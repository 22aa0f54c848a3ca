package httpfence

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

// Header is the name of the header with the token. In the response 412 it has the highest
// token that the server has seen.
const Header = "Fencing-Token"

// FromRequest returns the token of a request. The error wraps fence.ErrNoToken if the
// request has none, and fence.ErrInvalidArgument if it has several, or an invalid one.
func FromRequest(r *http.Request) (fence.Token, error) {
	switch values := r.Header.Values(Header); len(values) {
	case 0:
		return fence.Token{}, fmt.Errorf("httpfence: %s %s: %w: send the header %s", r.Method, r.URL.Path, fence.ErrNoToken, Header)
	case 1:
		token, err := fence.ParseToken(values[0])
		if err != nil {
			return fence.Token{}, fmt.Errorf("httpfence: header %s: %w", Header, err)
		}
		return token, nil
	default:
		return fence.Token{}, fmt.Errorf("httpfence: header %s: %w: the header must appear once, got %d", Header, fence.ErrInvalidArgument, len(values))
	}
}

// problem is the body of a response, as of RFC 9457.
type problem struct {
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`
	Resource string       `json:"resource,omitempty"`
	Token    *fence.Token `json:"token,omitempty"`
	Highest  *fence.Token `json:"highest,omitempty"`
}

// WriteError sends the response to an error of this package or of package fence, and
// reports whether it did: nothing was sent if err is nil, or does not wrap fence.ErrStale,
// fence.ErrNoToken or fence.ErrInvalidArgument. Call WriteError before anything else was
// written to w.
func WriteError(w http.ResponseWriter, err error) bool {
	var p problem
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		w.Header().Set(Header, stale.Highest.String())
		p = problem{Title: fence.ErrStale.Error(), Status: http.StatusPreconditionFailed, Resource: stale.Resource, Token: &stale.Token, Highest: &stale.Highest}
	case errors.Is(err, fence.ErrNoToken):
		p = problem{Title: fence.ErrNoToken.Error(), Status: http.StatusPreconditionRequired}
	case errors.Is(err, fence.ErrInvalidArgument):
		p = problem{Title: "invalid request", Status: http.StatusBadRequest}
	default:
		return false
	}
	p.Detail = err.Error()
	p.write(w)
	return true
}

// write sends the response. An error of writing means that the client is gone.
func (p problem) write(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
