package zktest_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMisuseOfNilAndZeroServersIsReported(t *testing.T) {
	for _, s := range []*zktest.Server{nil, new(zktest.Server)} {
		methods := reflect.ValueOf(s)
		require.Greater(t, methods.NumMethod(), 40)
		for i := range methods.NumMethod() {
			method := methods.Method(i)
			var args []reflect.Value
			for n := range method.Type().NumIn() {
				args = append(args, reflect.Zero(method.Type().In(n)))
			}
			call := method.Call
			if method.Type().IsVariadic() {
				call = method.CallSlice
			}
			require.PanicsWithValue(t, "zktest: the server was not started: make it with zktest.Start",
				func() { call(args) }, methods.Type().Method(i).Name)
		}
	}
}
