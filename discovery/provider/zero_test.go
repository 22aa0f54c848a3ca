package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: provider.ErrInvalidArgument,
		Zero: map[string]any{
			"Provider":   new(provider.Provider),
			"Lease":      new(provider.Lease),
			"PickerFunc": new(provider.PickerFunc),
			// Only pickers receive a Candidate, with an instance, which has the methods.
			"Candidate": struct{}{},
		},
		NoClient: map[string]any{
			"New of a registry": provider.New(discovery.NewRegistry(nil, "/services", nil), service, provider.Random(), nil),
		},
	}.Check(t)
	_, err := provider.New(new(discovery.Registry), service, provider.Random(), nil).Get(t.Context())
	require.ErrorIs(t, err, provider.ErrInvalidArgument)
	require.ErrorContains(t, err, "make it with discovery.NewRegistry")
	require.ErrorContains(t, new(provider.Provider).Status().Err, "make it with provider.New")
}

func TestInvalidPickersAreNamed(t *testing.T) {
	none := provider.PickerFunc(nil)
	for says, picker := range map[string]provider.Picker{
		"the picker is nil":                  nil,
		"invalid argument: the picker":       none,
		"Sticky: the picker is nil":          provider.Sticky(nil),
		"Prefer: the picker is nil":          provider.Prefer(near, none),
		"Prefer: the function is nil":        provider.Prefer(nil, provider.Random()),
		"Weighted: the function is nil":      provider.Weighted(nil),
		"Sticky: Weighted: the function is":  provider.Sticky(provider.Weighted(nil)),
		"Prefer: Sticky: the picker is nil":  provider.Prefer(near, provider.Sticky(nil)),
		"Sticky: Prefer: the picker is nil":  provider.Sticky(provider.Prefer(near, nil)),
		"Prefer: Prefer: the function is ni": provider.Prefer(near, provider.Prefer(nil, provider.Random())),
	} {
		_, err := provider.New(new(discovery.Registry), service, picker, nil).Get(t.Context())
		require.ErrorIs(t, err, provider.ErrInvalidArgument, says)
		require.ErrorContains(t, err, says)
	}
	require.PanicsWithValue(t, "provider: Weighted: the function is nil", func() {
		provider.Weighted(nil).Pick(candidates(1))
	})
}

func near(discovery.Instance) bool { return true }
