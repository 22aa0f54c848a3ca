package dispatch_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: dispatch.ErrInvalidArgument,
		Zero: map[string]any{
			"Queue": new(dispatch.Queue), "Worker": new(dispatch.Worker), "Master": new(dispatch.Master),
			"Attempt": new(dispatch.Attempt), "State": new(dispatch.State), "WorkerInfo": new(dispatch.WorkerInfo),
		},
		NoClient: map[string]any{
			"New": dispatch.New(nil, "/q", nil), "NewWorker": dispatch.NewWorker(nil, "/q", echo, nil), "NewMaster": dispatch.NewMaster(nil, "/q", nil),
		},
	}.Check(t)
}
