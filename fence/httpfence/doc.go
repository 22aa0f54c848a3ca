// Package httpfence carries fencing tokens over HTTP: clients send them, and servers refuse
// late writes.
//
// # What it is
//
// The client puts the token of its hold into the context of its requests:
//
//	client := &http.Client{Transport: &httpfence.Transport{}}
//	ctx = fence.NewContext(ctx, token)
//	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, body)
//	...
//	resp, err := client.Do(req)
//	...
//	err = httpfence.CheckResponse(resp) // wraps fence.ErrStale if the token was refused
//
// The server checks the token and runs the handler as one step:
//
//	http.Handle("/reports/", httpfence.Handler(&tokens, reports, nil)) // tokens is a fence.Memory
//
// A handler that writes to a database uses the token in its transaction instead:
//
//	token, err := httpfence.FromRequest(r)
//	if err == nil {
//		err = setReport(r.Context(), db, token) // calls Guard of package sqlfence
//	}
//	if httpfence.WriteError(w, err) {
//		return // a reply was sent
//	}
//
// # Guarantees
//
// [Handler] runs the handler in the Do method of a fence.Checker. With a fence.Memory, the
// handlers of one resource run one at a time, so that no handler whose token has passed the
// check writes behind the handler of a higher token. This holds for data in the memory of
// this process: a Memory forgets its tokens with the process, and other processes have other
// memories. For data elsewhere use a Checker whose Do is a transaction of that store, or
// FromRequest and WriteError as above.
//
// The whole body of a request is read before the check, up to Options.MaxBody, and the
// response is sent after the write: a client that is frozen while it sends or receives keeps
// no other client waiting. Set ReadTimeout of http.Server, as for every server.
//
// # How it is lost, and how you find out
//
// The status of a refused request tells why. The body is a problem of RFC 9457 in JSON.
//
//	412 Precondition Failed    the token is lower than the highest seen; the
//	                           header Fencing-Token of the response has that one
//	428 Precondition Required  the request has no token
//	400 Bad Request            the header is not one valid token
//	413 Content Too Large      the body is larger than Options.MaxBody
//	503 Service Unavailable    the check could not be made; retry
//	500 Internal Server Error  the write could not be completed, such as a commit
//
// 412 and not 409: the token is a condition in the header of the request, which was false,
// and clients and proxies do not retry it. 409 asks the user to resolve a conflict and send
// the request again, which a former holder must not do. The header Fencing-Token in the
// response distinguishes the refusal from that of an If-Match.
//
// # Znodes
//
// None; see package fence.
//
// # Failures
//
// The errors are fence.ErrStale, fence.ErrNoToken and fence.ErrInvalidArgument.
//
// # Compatibility
//
// The header is Fencing-Token: <epoch>-<number>, both decimal.
//
// # Concurrency
//
// All functions and types may be used from any number of goroutines. No goroutine is
// started.
package httpfence
