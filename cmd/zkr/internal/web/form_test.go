package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sendForm sends a form by a user, with further headers, and returns the status of the
// answer; 0 if the form is accepted.
func sendForm(t *testing.T, f Forms, user, body string, header map[string]string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/act?csrf=x&do=other", strings.NewReader(body))
	r.Host = "zk.example.org:8380"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	if user != "" {
		r = WithIdentity(r, Identity{User: user})
	}
	form, status, err := f.Read(httptest.NewRecorder(), r, func(form url.Values) string { return form.Get("do") })
	if status == 0 {
		require.NoError(t, err)
		assert.Equal(t, "break", form.Get("do"), "the address does not count")
	}
	return status
}

// TestFormsOfOtherSitesAreRefused, also with a token.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	f := Forms{Key: "key"}
	body := url.Values{"do": {"break"}, "csrf": {f.Token("ann", "break")}}.Encode()
	for _, c := range []struct {
		header map[string]string
		want   int
	}{
		{nil, 0},
		{map[string]string{"Sec-Fetch-Site": "same-origin"}, 0},
		{map[string]string{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Origin": "https://zk.example.org:8380"}, 0},
		{map[string]string{"Origin": "http://ZK.example.org:8380"}, 0},
		{map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403},
		{map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 403},
		{map[string]string{"Sec-Fetch-Site": "none"}, 403},
		{map[string]string{"Sec-Fetch-Site": ""}, 403},
		{map[string]string{"Origin": "null"}, 403},
		{map[string]string{"Origin": ""}, 403},
		{map[string]string{"Origin": "https://evil.example.org"}, 403},
		{map[string]string{"Origin": "http://zk.example.org"}, 403},
		{map[string]string{"Origin": "http://zk.example.org:8380.evil.example.org"}, 403},
		{map[string]string{"Origin": "file://zk.example.org:8380"}, 403},
		{map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example.org"}, 403},
		{map[string]string{"Content-Type": "text/plain"}, 415},
		{map[string]string{"Content-Type": ""}, 415},
		{map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, 415},
		{map[string]string{"Content-Type": "application/json"}, 415},
		{map[string]string{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, 0},
	} {
		assert.Equal(t, c.want, sendForm(t, f, "ann", body, c.header), c.header)
	}
}

// TestFormIsForOneUserAndPurpose, and for a short time.
func TestFormIsForOneUserAndPurpose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := Forms{Key: "key"}
		token := f.Token("ann", "break")
		with := func(csrf string) string { return url.Values{"do": {"break"}, "csrf": {csrf}}.Encode() }
		assert.Equal(t, 0, sendForm(t, f, "ann", with(token), nil))
		assert.Equal(t, 403, sendForm(t, f, "", with(token), nil), "no user")
		assert.Equal(t, 403, sendForm(t, f, "eve", with(token), nil), "another user")
		assert.Equal(t, 403, sendForm(t, f, "ann", with(f.Token("ann", "depose")), nil), "another purpose")
		assert.Equal(t, 403, sendForm(t, Forms{Key: "other"}, "ann", with(token), nil), "another run")
		assert.Equal(t, 400, sendForm(t, f, "ann", "do=break&csrf=%zz", nil))
		assert.Equal(t, 400, sendForm(t, f, "ann", with(token)+"&reason="+strings.Repeat("x", maxForm), nil), "a huge body")
		moment, sum, _ := strings.Cut(token, ".")
		for _, wrong := range []string{"", ".", moment, moment + ".", "0." + sum, "+" + token, moment + "0." + sum, token + "0", "x." + sum} {
			assert.Equal(t, 403, sendForm(t, f, "ann", with(wrong), nil), wrong)
		}
		time.Sleep(formAge - time.Second)
		assert.Equal(t, 0, sendForm(t, f, "ann", with(token), nil))
		time.Sleep(time.Second)
		assert.Equal(t, 403, sendForm(t, f, "ann", with(token), nil), "an old page")
	})
}
