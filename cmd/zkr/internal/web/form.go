package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxForm bounds the body of a form, in bytes.
	maxForm = 16 << 10
	// formAge is how long a form may be sent after its page was written.
	formAge = 15 * time.Minute
)

// Forms protects forms that change something: from other sites (CSRF), and from being
// sent for another purpose or by another user than the page was written for.
type Forms struct {
	// Key is the secret of this run, which pages never show.
	Key string
}

// Token is the hidden field "csrf" of a form for a purpose. The page with the form must
// have the header "Referrer-Policy: same-origin": otherwise browsers do not name the
// page's origin.
func (f Forms) Token(user, purpose string) string { return f.tokenAt(time.Now(), user, purpose) }

func (f Forms) tokenAt(at time.Time, user, purpose string) string {
	moment := strconv.FormatInt(at.Unix(), 10)
	sum := hmac.New(sha256.New, []byte(f.Key))
	fmt.Fprintf(sum, "%s %q %q", moment, user, purpose)
	return moment + "." + hex.EncodeToString(sum.Sum(nil))
}

// valid reports whether a token was made for this user and purpose, not long ago.
func (f Forms) valid(token, user, purpose string) bool {
	text, _, _ := strings.Cut(token, ".")
	moment, err := strconv.ParseInt(text, 10, 64)
	at := time.Unix(moment, 0)
	age := time.Since(at)
	return err == nil && age > -time.Minute && age < formAge && hmac.Equal([]byte(token), []byte(f.tokenAt(at, user, purpose)))
}

// Read reads the form of a POST request by an authenticated user. purpose tells, from
// the form, what the form is for. The error is a sentence for the user, with the status
// of the answer; 0 for an accepted form.
func (f Forms) Read(w http.ResponseWriter, r *http.Request, purpose func(url.Values) string) (form url.Values, status int, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	user := User(r.Context())
	switch {
	case user == "":
		return nil, http.StatusForbidden, errors.New("only authenticated users may change something")
	case !sameOrigin(r):
		return nil, http.StatusForbidden, errors.New("forms from pages of other servers are refused")
	case kind != "application/x-www-form-urlencoded":
		return nil, http.StatusUnsupportedMediaType, errors.New("the content type must be application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, http.StatusBadRequest, errors.New("the form cannot be read")
	}
	form = r.PostForm // without the parameters of the address
	if !f.valid(form.Get("csrf"), user, purpose(form)) {
		return nil, http.StatusForbidden, errors.New("the form is too old, or was made for another user or purpose: open the page again")
	}
	return form, 0, nil
}

// sameOrigin reports whether a page of this server sends the request, or a program
// that is not a browser. Behind a proxy with TLS, only the browser knows the scheme, so
// the host alone is compared.
func sameOrigin(r *http.Request) bool {
	if site, told := r.Header["Sec-Fetch-Site"]; told && (len(site) != 1 || site[0] != "same-origin") {
		return false
	}
	origins, told := r.Header["Origin"]
	if !told {
		return true
	}
	if len(origins) != 1 {
		return false
	}
	origin, err := url.Parse(origins[0])
	return err == nil && (origin.Scheme == "http" || origin.Scheme == "https") && strings.EqualFold(origin.Host, r.Host)
}
