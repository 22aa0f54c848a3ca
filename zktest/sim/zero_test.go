package sim

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	for _, w := range []*World{nil, new(World)} {
		for name, call := range map[string]func(){
			"Client": func() { w.Client() }, "Fail": func() { w.Fail(nil) }, "Finally": func() { w.Finally("", nil) },
			"Require": func() { w.Require() }, "Start": func() { w.Start(Program{}) },
		} {
			require.PanicsWithValue(t, "sim: this World is not that of a run: get one from sim.Run", call, name)
		}
	}
	for _, p := range []*Process{nil, new(Process)} {
		for name, call := range map[string]func(){
			"Addrs": func() { p.Addrs() }, "Call": func() { _, _ = p.Call("", Read(), nil) },
			"Client": func() { _, _ = p.Client(t.Context()) }, "Do": func() { _ = p.Do("", "", 0, nil) },
			"Enter": func() { p.Enter("", 0) }, "Fail": func() { p.Fail(ErrHang) }, "Name": func() { p.Name() },
			"Note": func() { p.Note("") }, "Options": func() { p.Options() }, "Rand": func() { p.Rand() },
			"Pause": func() { _ = p.Pause(t.Context(), 0) },
		} {
			require.PanicsWithValue(t, "sim: this Process is not that of a run: get one from sim.Run", call, name)
		}
	}
	for _, i := range []*Injector{nil, {}} {
		require.PanicsWithValue(t, "sim: the Injector has no server: set Injector.Server", func() { _ = i.Inject(t.Context(), nil) })
	}
}

func TestAProgramWithoutANameOrAFunctionIsRefused(t *testing.T) {
	for text, p := range map[string]Program{
		"sim: Program.Name is empty":                                 {Run: idle},
		"sim: Program.Name is \"a b\"; it must not have white space": {Name: "a b", Run: idle},
		"sim: program a: Run is nil":                                 {Name: "a"},
		"sim: program a: Copies is -1; it must be at least 1":        {Name: "a", Copies: -1, Run: idle},
	} {
		f := Explore(t, &Options{Seeds: 1, Shrink: -1, Schedule: Schedule{}}, func(w *World) { w.Start(p) })
		require.ErrorContains(t, f, text)
	}
}
