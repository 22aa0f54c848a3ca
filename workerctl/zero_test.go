package workerctl_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	_, attach := workerctl.Attach(t.Context(), nil, "words", nil)
	_, list := workerctl.List(t.Context(), nil, nil)
	_, submit := workerctl.Submit(t.Context(), nil, workerctl.Spec{Name: "words", Workers: 1}, nil)
	none := struct{}{} // no method of these fails
	world.Misuse{
		Invalid: workerctl.ErrInvalidArgument,
		Zero: map[string]any{
			"Job": new(workerctl.Job), "Janitor": new(workerctl.Janitor), "Roster": new(workerctl.Roster), "Worker": new(workerctl.Worker),
			"State": none, "Member": none, "InUseError": none, "MissingError": none,
		},
		NoClient: map[string]any{"Attach": attach, "List": list, "Submit": submit, "NewJanitor": workerctl.NewJanitor(nil, nil)},
	}.Check(t)
}
