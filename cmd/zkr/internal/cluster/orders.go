package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// orderLimit bounds an order to a node elsewhere.
	orderLimit = 2 * time.Second
	// viewLimit bounds the wait for the new view after an order.
	viewLimit = time.Second
	// formLimit is how long an order's form may be, in bytes.
	formLimit = 4 << 10
)

var errOff = errors.New("this page is read-only: orders need a page that only this machine can reach, or --allow-kill")

// allowed checks whether an order may be given, and otherwise answers.
func (s *Site) allowed(w http.ResponseWriter, r *http.Request) bool {
	if !s.opts.Orders {
		s.refuse(w, r, http.StatusForbidden, errOff)
		return false
	}
	if foreign(r) {
		s.refuse(w, r, http.StatusForbidden, errForeign)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, formLimit)
	if !s.knows(r) || r.ParseForm() != nil || !same(r.PostForm.Get("token"), s.opts.Secret.key(forForm)) {
		s.refuse(w, r, http.StatusForbidden, errSecret)
		return false
	}
	return true
}

// byForm reports whether the answer is for a reader, whose page has no scripts.
func byForm(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// refuse answers a refused order: for a form, with the page and the reason.
func (s *Site) refuse(w http.ResponseWriter, r *http.Request, code int, err error) {
	if byForm(r) {
		s.show(w, r, code, err.Error())
		return
	}
	refuse(w, code, err)
}

// done answers an order, carried out or not.
func (s *Site) done(w http.ResponseWriter, r *http.Request, err error) {
	carried := time.Now()
	s.monitor.Look()
	switch {
	case errors.Is(err, errUnknownNode), errors.Is(err, errOrder):
		s.refuse(w, r, http.StatusNotFound, err)
	case errors.Is(err, errNotNow), errors.Is(err, errNoFreeze), errors.Is(err, errTooMany), errors.Is(err, errNotLeading):
		s.refuse(w, r, http.StatusConflict, err)
	case err != nil:
		s.refuse(w, r, http.StatusBadGateway, err)
	case byForm(r):
		// The next page must show the effect of the order.
		limited, cancel := context.WithTimeout(r.Context(), viewLimit)
		defer cancel()
		_, _ = s.monitor.Await(limited, func(v View) bool { return v.At.After(carried) })
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *Site) add(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	if s.crew == nil {
		s.done(w, r, errUnknownNode)
		return
	}
	_, err := s.crew.Add(r.Context())
	s.done(w, r, err)
}

func (s *Site) order(w http.ResponseWriter, r *http.Request) {
	if !s.allowed(w, r) {
		return
	}
	err := s.Give(r.Context(), r.PathValue("name"), Order(r.PathValue("order")))
	s.done(w, r, err)
}

// Give gives an order to a node: to its process if on this machine, otherwise
// to the node itself, which can only be killed, or resign.
func (s *Site) Give(ctx context.Context, name string, what Order) error {
	switch what {
	case Kill, Freeze, Resume, Cut, Heal, Start, Resign:
	default:
		return errOrder
	}
	here := s.crew.find(name) != nil
	address := s.monitor.address(name)
	if !here && (address == "" || what != Kill && what != Resign) {
		return errUnknownNode
	}
	id := s.monitor.ordered(name, what)
	err := s.carry(ctx, name, address, here, what)
	s.monitor.carried(id, err)
	return err
}

func (s *Site) carry(ctx context.Context, name, address string, here bool, what Order) error {
	switch {
	case here && what != Resign:
		return s.crew.Do(ctx, name, what)
	case address == "": // not listening yet
		return errNotNow
	}
	return s.sendOrder(ctx, name, address, what)
}

// errUnsure: an order was sent, and its answer got lost.
var errUnsure = errors.New("it is unknown whether the node has received the order")

// sendOrder sends an order to a node.
func (s *Site) sendOrder(ctx context.Context, name, address string, what Order) error {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/control/"+string(what), http.NoBody)
	if err != nil {
		return err
	}
	s.opts.Secret.sign(r, name, time.Now())
	res, err := s.monitor.asker.Do(r)
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("the node does not listen: %w", err)
	case err != nil:
		return fmt.Errorf("%w: %w", errUnsure, err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, formLimit)
	switch res.StatusCode {
	case http.StatusAccepted:
		return nil
	case http.StatusConflict:
		return errNotLeading
	}
	return fmt.Errorf("the node answers %s", res.Status)
}
