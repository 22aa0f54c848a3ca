package versioned

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// plain is a record that is never rewritten.
type plain struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
}

// kept is a record that is rewritten, and has its format behind its fields.
type kept struct {
	Name string `json:"name,omitempty"`
	Size int    `json:"size,omitempty"`
	Kept
}

func TestFormatIsCheckedBeforeAnythingElseIsRead(t *testing.T) {
	for data, found := range map[string]string{
		`{}`: "", `{"format":1}`: "", ` {"format": 1, "name": 7}`: "", `{"format":null}`: "", `{"Format":1}`: "",
		`{"format":2,"name":[7]}`: "2", `{"format":0}`: "0", `{"format":-1}`: "-1", `{"format":1.5}`: "1.5",
		`{"format":"1"}`: `"1"`, `{"format":99999999999999999999999}`: "99999999999999999999", `{"format":{}}`: "{}",
	} {
		err := Check([]byte(data), 1)
		if found == "" {
			require.NoError(t, err, data)
			continue
		}
		var wrong *FormatError
		require.ErrorAs(t, err, &wrong, data)
		require.Equal(t, FormatError{found, 1}, *wrong)
		require.EqualError(t, err, "the record has format "+found+", this version supports formats up to 1: update this program to the version that wrote the record")
	}
	require.NoError(t, Check([]byte(`{"format":2}`), 2))
	for _, data := range []string{"", "null", "[]", "7", `"{}"`, "{", `{"format":1`, `{"format":1}}`, "garbage", "\xff"} {
		require.ErrorIs(t, Check([]byte(data), 1), ErrNotRecord, data)
	}
}

func TestUnknownFieldsSurviveARewrite(t *testing.T) {
	for data, want := range map[string]string{
		`{}`:                         `{"format":1}`,
		`{"name":"a"}`:               `{"name":"a","format":1}`,
		`{"name":"a","format":1}`:    `{"name":"a","format":1}`,
		`{"zone":{"a":[1,2]}}`:       `{"format":1,"zone":{"a":[1,2]}}`,
		`{"b":1,"name":"x","a":"y"}`: `{"name":"x","format":1,"a":"y","b":1}`,
		`{"NAME":"x","Format":1}`:    `{"name":"x","format":1}`,
		`{"Kept":{"fields":1}}`:      `{"format":1,"Kept":{"fields":1}}`,
		`{"big":12345678901234567}`:  `{"format":1,"big":12345678901234567}`,
	} {
		r := kept{Size: 7}
		require.NoError(t, Unmarshal([]byte(data), &r))
		require.Zero(t, r.Size, "nothing of before is left")
		got, err := Marshal(&r, 1)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	var old, next kept
	require.NoError(t, Unmarshal([]byte(`{"name":"old","zone":1}`), &old))
	require.False(t, old.Empty())
	next.Kept = old.Kept
	got, err := Marshal(&next, 0)
	require.NoError(t, err)
	require.Equal(t, `{"zone":1}`, string(got))
	require.NoError(t, Unmarshal([]byte(`{"name":"again"}`), &old))
	require.True(t, old.Empty(), "what was kept before is not kept with another record")
}

func TestRecordsThatKeepNothingAreWrittenAsTheyAre(t *testing.T) {
	var r plain
	require.NoError(t, Unmarshal([]byte(`{"format":1,"name":"a","zone":1}`), &r))
	got, err := Marshal(&r, 0)
	require.NoError(t, err)
	require.Equal(t, `{"format":1,"name":"a"}`, string(got))
}

func TestDataThatIsNoRecordIsRefused(t *testing.T) {
	for _, data := range []string{"", "{", `{"name":7}`, `{"name":"a"} {}`, `{"name":"a"}x`, `[]`, `{"zone":1,"name":7}`} {
		require.Error(t, Unmarshal([]byte(data), &kept{}), data)
		require.Error(t, Unmarshal([]byte(data), &plain{}), data)
	}
	_, err := Marshal(&struct{ C chan int }{}, 0)
	require.Error(t, err)
	_, err = Marshal(&kept{Kept: Kept{map[string]json.RawMessage{"a": []byte("{")}}}, 0)
	require.Error(t, err)
}

// FuzzUnmarshal: a record that is accepted is rewritten with all that it had, and to
// rewrite it again changes nothing.
func FuzzUnmarshal(f *testing.F) {
	for _, data := range []string{"", "{}", "null", `{"format":1,"name":"a","x":[1]}`, `{"name":"a"} {}`, `{"a":1,"a":2}`, `{"Name":"a","nAME":"b"}`, `{"":1}`, `{"format":2}`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checked := Check(data, 1)
		var wrong *FormatError
		if checked != nil && !errors.Is(checked, ErrNotRecord) && !errors.As(checked, &wrong) {
			t.Fatalf("%q: %v", data, checked)
		}
		var r kept
		if checked != nil || Unmarshal(data, &r) != nil {
			return
		}
		first, err := Marshal(&r, 1)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var again kept
		if err := Unmarshal(first, &again); err != nil {
			t.Fatalf("%q is rewritten as %q: %v", data, first, err)
		}
		second, err := Marshal(&again, 1)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%q is rewritten as %q and then as %q: %v", data, first, second, err)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(data, &before) != nil || json.Unmarshal(second, &after) != nil {
			t.Fatalf("%q, %q: not a JSON object", data, second)
		}
		for name := range r.fields {
			if _, there := after[name]; !there {
				t.Fatalf("%q: field %q is lost in %q", data, name, second)
			}
		}
	})
}
