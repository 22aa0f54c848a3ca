package rwlock_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid:  rwlock.ErrInvalidArgument,
		Zero:     map[string]any{"Held": new(rwlock.Held), "Place": new(rwlock.Place), "RWMutex": new(rwlock.RWMutex)},
		NoClient: map[string]any{"New": rwlock.New(nil, "/l", nil)},
	}.Check(t)
}
