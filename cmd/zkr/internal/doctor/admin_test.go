package doctor_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/doctor"
)

// askAdmin asks a server whose admin server answers with status, body and date.
func askAdmin(t *testing.T, status int, body string, date time.Time) *doctor.Server {
	t.Helper()
	asked := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer web.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(web.Listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	all := doctor.Asking{Patience: time.Millisecond, AdminPort: number}.Ask(t.Context(), []string{l.Addr().String()})
	assert.Equal(t, "/commands/system_properties", asked)
	assert.Equal(t, web.URL+asked, all[0].AdminURL)
	all[0].Err = nil // the server itself is not of interest
	return all[0]
}

func TestPropertiesOfTheAdminServer(t *testing.T) {
	s := askAdmin(t, 200, `{"command":"system_properties","error":null,"zookeeper.forceSync":"no","zookeeper.skipACL":"yes"}`, time.Now())
	assert.Equal(t, map[string]bool{"server.admin": true, "server.force-sync": true, "acl.skipped": true}, found(doctor.Servers([]*doctor.Server{s})))
	assert.Empty(t, doctor.NotSeen([]*doctor.Server{s}))
	s = askAdmin(t, 200, `{"command":"system_properties","zookeeper.forceSync":"yes"}`, time.Now())
	assert.Equal(t, map[string]bool{"server.admin": true}, found(doctor.Servers([]*doctor.Server{s})))
}

func TestClockOfTheAdminServer(t *testing.T) {
	for by, differs := range map[time.Duration]bool{-time.Hour: true, -6 * time.Second: true, -time.Second: false, 0: false, time.Second: false, 6 * time.Second: true} {
		s := askAdmin(t, 200, `{"command":"system_properties"}`, time.Now().Add(by))
		assert.Equal(t, differs, found(doctor.Servers([]*doctor.Server{s}))["clock.differs"], by)
	}
}

// The port may be that of anything.
func TestOtherServersOnTheAdminPortAreNotBelieved(t *testing.T) {
	for body, status := range map[string]int{
		`{"command":"system_properties","zookeeper.forceSync":"no"}`: 403,
		`{"zookeeper.forceSync":"no"}`:                               200,
		`["command"]`:                                                200,
		`<html>zookeeper.forceSync=no</html>`:                        200,
		"":                                                           302,
	} {
		s := askAdmin(t, status, body, time.Now())
		assert.Empty(t, doctor.Servers([]*doctor.Server{s}), body)
		unseen := doctor.NotSeen([]*doctor.Server{s})
		require.Len(t, unseen, 1, body)
		assert.Contains(t, unseen[0].What, "forceSync")
		assert.Contains(t, unseen[0].Remedy, "--admin-port")
	}
}

func TestNoAdminServerIsAskedAtPortZero(t *testing.T) {
	s := doctor.Asking{Patience: time.Millisecond}.Ask(t.Context(), []string{"127.0.0.1:1"})[0]
	assert.Empty(t, s.AdminURL)
	s.Err = nil
	assert.Empty(t, doctor.NotSeen([]*doctor.Server{s}))
}
