package election_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: election.ErrInvalidArgument,
		Zero: map[string]any{
			"Candidacy": new(election.Candidacy), "Elector": new(election.Elector), "Leadership": new(election.Leadership),
		},
		NoClient: map[string]any{"New": election.New(nil, "/e", nil)},
	}.Check(t)
}
