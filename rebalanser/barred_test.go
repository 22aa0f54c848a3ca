package rebalanser_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// A member whose record cannot be read gets no resources from the next coordinator, and
// gives up its resources like any other member: no other member owns them before. The
// group does not wait for a foreign znode that never answers.
func TestMemberWithAnUnreadableRecordGivesUpInOrder(t *testing.T) {
	for name, data := range map[string]string{"garbage": "garbage", "newer": newer + `"id":"c3"}`} {
		for _, instance := range []string{"", "static-3"} {
			t.Run(name+" "+instance, func(t *testing.T) {
				inBoth(t, func(w *World) {
					a := w.stock(3)
					c1, c2 := w.node("c1", rebalanser.Options{}).run(), w.node("c2", rebalanser.Options{})
					w.Settle()
					c2.run()
					w.Settle()
					goOn := make(chan struct{})
					release := sync.OnceFunc(func() { close(goOn) })
					c3 := w.node("c3", rebalanser.Options{Instance: instance})
					c3.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
						if what[0] == '-' {
							<-goOn
						}
						return nil
					}
					c3.run()
					w.Cleanup(release)
					w.Settle()
					w.shared(3, c1, c2, c3)
					had := w.of("c3")
					record := path + "/clients/" + c3.group.State().Client
					require.NoError(w, w.Server.Set(record, []byte(data)))
					// Its znode is among the clients, and it will never acknowledge anything.
					require.NoError(w, w.Server.Create(path+"/clients/_c_x-latch-0000000077", []byte(data)))

					c1.stop()
					w.Pass(time.Minute)
					st := w.status(a)
					require.Equal(w, c2.group.State().Client, st.Coordinator)
					require.Equal(w, had, w.of("c3"), "it has not given up yet")
					require.NotContains(w, w.of("c2"), had[0])
					excluded := 0
					for _, m := range st.Members {
						if m.Err != nil {
							excluded++
							require.ErrorIs(w, m.Err, rebalanser.ErrRecord)
							require.Zero(w, m.Assigned)
						}
					}
					require.Equal(w, 2, excluded)

					release()
					w.Settle()
					require.Empty(w, w.of("c3"))
					w.shared(3, c2)
					c4 := w.node("c4", rebalanser.Options{}).run()
					w.Settle()
					require.Empty(w, w.of("c3"))
					require.Len(w, append(w.of("c2"), w.of("c4")...), 3)
					require.NotEmpty(w, w.of("c4"))
					c3.stop()
					w.Settle()
					require.Len(w, append(w.of("c2"), w.of("c4")...), 3)
					c4.stop()
				})
			})
		}
	}
}
