package apache_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

func TestMisuseOfNilAndZeroClustersIsReported(t *testing.T) {
	started := "apache: the cluster was not started: make it with apache.Start or apache.Require"
	for _, c := range []struct {
		value any
		least int
		says  string
	}{
		{(*apache.Cluster)(nil), 19, started},
		{new(apache.Cluster), 19, started},
		{(*apache.Client)(nil), 2, "apache: the client is nil: get one from Cluster.Client"},
	} {
		methods := reflect.ValueOf(c.value)
		require.GreaterOrEqual(t, methods.NumMethod(), c.least)
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
			require.PanicsWithValue(t, c.says, func() { call(args) }, methods.Type().Method(i).Name)
		}
	}
}
