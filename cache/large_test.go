package cache_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// A batch whose answer is too long costs its connection, and no batch is sent on the
// next connection: not even a batch that another processor is about to send in that
// instant.
func TestBatchThatIsTooLargeCostsOneConnection(t *testing.T) {
	for name, small := range map[string]int{"from the start": 0, "behind small ones": 700} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				put(w, "/c", "")
				for i := range small { // more than littleData: compared, not read again
					put(w, fmt.Sprintf("/c/a%03d", i), strings.Repeat("a", 1500))
				}
				const large = 300
				for i := range large {
					put(w, fmt.Sprintf("/c/b%03d", i), strings.Repeat("b", 20_000))
				}
				c := w.ClientWith(session.Options{MaxReply: 128 << 10})
				w.ResetStats()
				v := run(w, cache.NewChildren(c, "/c", text, nil).View)
				err := v.WaitSynced(w.Within(time.Minute))
				n := w.Server.Stats().Requests["connect"]
				require.NoError(w, err)
				require.LessOrEqual(w, n, 1)
				require.Equal(w, small+large, v.Len())
			})
		})
	}
}
