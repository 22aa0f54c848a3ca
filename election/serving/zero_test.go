package serving_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: serving.ErrInvalidArgument,
		Zero:    map[string]any{"Leader": new(serving.Leader)},
	}.Check(t)
}

func TestInvalidArgumentsAreReportedByTheFirstCall(t *testing.T) {
	for want, l := range map[string]*serving.Leader{
		"the elector is nil":       serving.New(nil, nil),
		"RetryAfter is -1ns":       serving.New(election.New(nil, "/e", nil), &serving.Options{RetryAfter: -1}),
		"make it with serving.New": {},
	} {
		_, _, err := l.Admit(t.Context())
		require.ErrorIs(t, err, serving.ErrInvalidArgument)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, l.Run(t.Context()), want)
		require.ErrorContains(t, l.Serve(t.Context(), &http.Server{}, nil), want)
		_, err = l.Listener("tcp", "127.0.0.1:0").Accept()
		require.ErrorContains(t, err, want)
		require.Nil(t, l.Held())
		w := httptest.NewRecorder()
		l.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		require.Equal(t, http.StatusInternalServerError, w.Code)
		require.Contains(t, w.Body.String(), want)
	}
	l := serving.New(election.New(nil, "/e", nil), nil)
	require.ErrorContains(t, l.Run(t.Context()), "the client is nil")
	require.ErrorContains(t, l.Serve(t.Context(), nil, nil), "the server is nil")
	require.ErrorContains(t, l.Serve(t.Context(), &http.Server{}, nil), "the listener is nil")
	w := httptest.NewRecorder()
	l.Handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusInternalServerError, w.Code)
}
