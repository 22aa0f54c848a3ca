package grpcresolver_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/grpcresolver"
	"github.com/zkrecipes/zkrecipes/session"
)

// A list that is too long costs the client's connection, with all that it is for:
// it is not asked for again and again.
func TestListThatIsTooLongIsNotAskedForAllTheTime(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.zk.Create("/services", nil))
	require.NoError(t, w.zk.Create("/services/"+service, nil))
	for i := range 200 {
		require.NoError(t, w.zk.Create(fmt.Sprintf("/services/%s/a-name-of-some-length-%03d", service, i), nil))
	}
	c, err := session.Connect(t.Context(), w.zk.Addr(), &session.Options{MaxReply: 2000})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	w.registry = discovery.NewRegistry(c, "/services", nil)
	w.zk.ResetStats()
	_, err = w.call(w.dialWith("zk:///"+service, grpcresolver.NewBuilder(t.Context(), w.registry, nil)))
	require.ErrorContains(t, err, session.ErrReplyTooLarge.Error())
	before := w.zk.Stats().Requests["connect"]
	<-time.After(7 * time.Second)
	require.LessOrEqual(t, w.zk.Stats().Requests["connect"]-before, 1)
}
