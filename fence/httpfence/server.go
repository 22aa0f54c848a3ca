package httpfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/zkrecipes/zkrecipes/fence"
)

// DefaultMaxBody is the default of Options.MaxBody, in bytes.
const DefaultMaxBody = 1 << 20

// Options of a [Handler]; nil and the zero value mean all defaults.
type Options struct {
	// Resource returns the name of the resource that a request writes: requests with
	// the same name are fenced together. An empty name is refused with 400. Default:
	// the path of the URL.
	Resource func(r *http.Request) string
	// MaxBody is the largest body of a request, in bytes; default: [DefaultMaxBody].
	MaxBody int64
}

// Handler returns a handler that runs next in checker.Do, with the token of the request, and
// sends the responses of the package documentation if the token is refused. The context of
// the request that next gets has the token, for fence.FromContext, and is derived from the
// context that Do passes on.
//
// The response of next is sent after Do has returned, without Flusher and Hijacker. For a
// Checker that is a transaction, the function that Handler passes to Do returns an error if
// the status is 400 or more: the Checker rolls back, and the client gets the response of next.
// If Do returns another error after next, such as a failed commit, the client gets 500.
//
// GET, HEAD, OPTIONS and TRACE without a token go to next without a check. With a token they
// are checked as writes are: a new holder shows its token before it reads.
func Handler(checker fence.Checker, next http.Handler, o *Options) http.Handler {
	h := &handler{checker: checker, next: next, resource: func(r *http.Request) string { return r.URL.Path }, maxBody: DefaultMaxBody}
	if o != nil && o.Resource != nil {
		h.resource = o.Resource
	}
	if o != nil && o.MaxBody != 0 {
		h.maxBody = o.MaxBody
	}
	switch {
	case checker == nil:
		h.err = fmt.Errorf("%w: checker is nil", fence.ErrInvalidArgument)
	case next == nil:
		h.err = fmt.Errorf("%w: next is nil", fence.ErrInvalidArgument)
	case h.maxBody < 0:
		h.err = fmt.Errorf("%w: Options.MaxBody must be at least 0, got %d", fence.ErrInvalidArgument, h.maxBody)
	}
	return h
}

type handler struct {
	checker  fence.Checker
	next     http.Handler
	resource func(r *http.Request) string
	maxBody  int64
	err      error // of an invalid argument of Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.err != nil { // the server's fault, not the client's
		problem{Title: "invalid server", Status: http.StatusInternalServerError, Detail: fmt.Sprintf("httpfence: Handler: %v", h.err)}.write(w)
		return
	}
	token, err := FromRequest(r)
	if errors.Is(err, fence.ErrNoToken) && isSafe(r.Method) {
		h.next.ServeHTTP(w, r)
		return
	}
	if WriteError(w, err) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		problem{Title: "body too large", Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the body must have at most %d bytes", tooLarge.Limit)}.write(w)
		return
	case err != nil:
		problem{Title: "body not read", Status: http.StatusBadRequest, Detail: fmt.Sprintf("httpfence: read the body: %v", err)}.write(w)
		return
	}
	var response *buffer
	err = h.checker.Do(r.Context(), h.resource(r), token, func(ctx context.Context) error {
		response = &buffer{header: http.Header{}}
		r := r.Clone(fence.NewContext(ctx, token))
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.next.ServeHTTP(response, r)
		if response.status >= http.StatusBadRequest {
			return errFailed
		}
		return nil
	})
	switch {
	case response != nil && (err == nil || errors.Is(err, errFailed)):
		response.send(w)
	case WriteError(w, err):
	case response != nil:
		problem{Title: "not written", Status: http.StatusInternalServerError, Detail: "the write may not have been completed"}.write(w)
	default:
		problem{Title: "not checked", Status: http.StatusServiceUnavailable, Detail: "the check of the token could not be made; nothing was written"}.write(w)
	}
}

// errFailed tells the Checker that next has answered with a failure.
var errFailed = errors.New("httpfence: the handler has answered with a status of 400 or more")

// buffer keeps a response until the Checker has completed the write: a response that was
// sent before could claim a write whose transaction fails, and a client that does not read
// its response would keep the resource.
type buffer struct {
	header http.Header
	status int // 0 until the first write
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header { return b.header }

func (b *buffer) WriteHeader(status int) {
	if b.status == 0 && status >= http.StatusOK { // earlier statuses are only informational
		b.status = status
	}
}

func (b *buffer) Write(p []byte) (int, error) {
	b.WriteHeader(http.StatusOK)
	return b.body.Write(p)
}

// send sends the response. An error of writing means that the client is gone.
func (b *buffer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), b.header)
	if b.status != 0 {
		w.WriteHeader(b.status)
	}
	_, _ = b.body.WriteTo(w)
}

// isSafe is true for the methods that RFC 9110 calls safe.
func isSafe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}
