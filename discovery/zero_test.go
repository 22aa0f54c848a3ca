package discovery_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: discovery.ErrInvalidArgument,
		Zero: map[string]any{
			"Registry": new(discovery.Registry), "Group": new(discovery.Group), "Registration": new(discovery.Registration),
			"Membership": new(discovery.Membership), "Type": new(discovery.Type),
			// A zero Instance can be used: it has an empty URI.
			"Instance": struct{}{},
		},
		NoClient: map[string]any{
			"NewRegistry": discovery.NewRegistry(nil, "/services", nil), "NewGroup": discovery.NewGroup(nil, "/group", nil),
		},
	}.Check(t)
}
