package lock

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// A loss counts however late before the end of the holds: between the call of Release and
// the deletions, another client may delete a znode, or the session may be lost.
func TestReleaseOfSeveralTellsEveryLoss(t *testing.T) {
	for name, lose := range map[string]func(w *world.World, p *Permits){
		"znode":   func(w *world.World, p *Permits) { require.NoError(w, w.Server.Delete(p.holds[1].hold.Path())) },
		"session": func(w *world.World, p *Permits) { require.NoError(w, w.Server.ExpireSession(p.Session().ID())) },
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				p, err := NewSemaphore(w.Client(), "/s", 2, &Options{CuratorV2: true}).Acquire(w.Ctx, 2)
				require.NoError(w, err)
				lose(w, p)
				<-p.holds[1].hold.Context().Done()
				err = releaseAll(w.Ctx, p.holds)
				require.ErrorIs(w, err, session.ErrLost)
				require.NotErrorIs(w, err, session.ErrReleased)
			})
		})
	}
}

// A session lost right after the end of the holds confirms no release.
func TestReleaseIsNotConfirmedByALostSession(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		p, err := NewSemaphore(w.Client(), "/s", 2, nil).Acquire(w.Ctx, 2)
		require.NoError(w, err)
		p.holds[0].hold.End(session.ErrReleased)
		require.NoError(w, w.Server.ExpireSession(p.Session().ID()))
		<-p.Session().Context().Done()
		require.ErrorIs(w, releaseAll(w.Ctx, p.holds), session.ErrLost)
	})
}
