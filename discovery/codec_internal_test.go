package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// java returns the output of Curator 5.4.0's JsonInstanceSerializer for the instances
// below, in its compatible mode ("old", the default) and in the other ("new").
func java(t *testing.T) (old, fresh []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/java.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(raw)) {
		mode, data, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if mode == "old" {
			old = append(old, data)
		} else {
			fresh = append(fresh, data)
		}
	}
	require.Len(t, old, 3)
	require.Len(t, fresh, 3)
	return old, fresh
}

func javaInstances() []Instance {
	return []Instance{
		{
			Service: "web", ID: "one", Address: "10.0.0.1", Port: 8080, SSLPort: 8443,
			Payload: json.RawMessage("\"eu <&> \u00fc \u2028\""), RegistrationTime: time.UnixMilli(946684800123),
			Type: DynamicSequential, URISpec: "{scheme}://{address}:{port}/a{[}b{]}",
		},
		{Service: "web", ID: "two", RegistrationTime: time.UnixMilli(0), Type: Static},
		{Service: "web", ID: "off", Address: "h", Port: 1, RegistrationTime: time.UnixMilli(5), Disabled: true},
	}
}

func TestJavasInstancesAreReadAndWrittenToTheByte(t *testing.T) {
	old, fresh := java(t)
	for n, want := range javaInstances() {
		got, err := decodeInstance([]byte(fresh[n]))
		require.NoError(t, err)
		require.Equal(t, want, got)
		written, err := want.encode()
		require.NoError(t, err)
		if want.Disabled {
			require.Equal(t, fresh[n], string(written))
			continue
		}
		require.Equal(t, old[n], string(written))
		got, err = decodeInstance([]byte(old[n]))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestReadersIgnoreOrderAndOtherKeys(t *testing.T) {
	got, err := decodeInstance([]byte(` { "enabled":null, "serviceType":null, "Name":"no", "ID":"no", "ENABLED":false, "extra":{"a":[1]},
		"payload" : {"@class":"com.example.P", "weight":3}, "sslPort":null, "port":1,"address":null,"id":"i", "name":"n" }`))
	require.NoError(t, err)
	require.Equal(t, Instance{
		Service: "n", ID: "i", Port: 1, RegistrationTime: time.UnixMilli(0),
		Payload: json.RawMessage(`{"@class":"com.example.P", "weight":3}`),
	}, got)
}

// CH60: data that is not an instance is an error that says why.
func TestInvalidInstanceIsMalformed_CH60(t *testing.T) {
	for data, why := range map[string]string{
		"":                                    "unexpected end",
		"{":                                   "unexpected end",
		"127.0.0.1":                           "invalid character",
		"null":                                "no name",
		"[]":                                  "array",
		`"x"`:                                 "string",
		`{}`:                                  "no name",
		`{"name":"a"}`:                        "no id",
		`{"id":"a"}`:                          "no name",
		`{"name":"a","id":""}`:                "no id",
		`{"name":1,"id":"b"}`:                 "name: ",
		`{"name":"a","id":[]}`:                "id: ",
		`{"name":"a","id":"b","port":"8080"}`: "port: ",
		`{"name":"a","id":"b","port":99999999999}`:                                  "port: ",
		`{"name":"a","id":"b","sslPort":1.5}`:                                       "sslPort: ",
		`{"name":"a","id":"b","address":{}}`:                                        "address: ",
		`{"name":"a","id":"b","enabled":"yes"}`:                                     "enabled: ",
		`{"name":"a","id":"b","serviceType":"QUICK"}`:                               "QUICK",
		`{"name":"a","id":"b","serviceType":3}`:                                     "serviceType: ",
		`{"name":"a","id":"b","registrationTimeUTC":""}`:                            "registrationTimeUTC: ",
		`{"name":"a","id":"b","registrationTimeUTC":253402300800000}`:               "registrationTimeUTC: ",
		`{"name":"a","id":"b","registrationTimeUTC":-62135596800001}`:               "registrationTimeUTC: ",
		`{"name":"a","id":"b","registrationTimeUTC":9223372036854775807}`:           "registrationTimeUTC: ",
		`{"name":"a","id":"b","registrationTimeUTC":-9223372036854775808}`:          "registrationTimeUTC: ",
		`{"name":"a","id":"b","uriSpec":"x"}`:                                       "uriSpec: ",
		`{"name":"a","id":"b","uriSpec":{"parts":1}}`:                               "uriSpec: ",
		`{"name":"a","id":"b","uriSpec":{"parts":[{"value":2}]}}`:                   "uriSpec: ",
		`{"name":"a","id":"b","uriSpec":{"parts":[{"value":"}","variable":true}]}}`: "a variable cannot",
		`{"name":"a","id":"b"} trailing`:                                            "after top-level",
	} {
		_, err := decodeInstance([]byte(data))
		require.ErrorIs(t, err, ErrMalformed, data)
		require.ErrorContains(t, err, why, data)
		i := readInstance("web", session.Node{Path: "/s/web/x", Data: []byte(data), Stat: session.Stat{Czxid: 7}}, nil)
		require.ErrorIs(t, i.Err, ErrMalformed)
		i.Err = nil
		require.Equal(t, Instance{Service: "web", ID: "x", Path: "/s/web/x", Token: 7}, i)
	}
}

// The first and the last millisecond that a registration can have.
const earliest, latest = -62135596800000, 253370764799999

// TestTimeThatIsReadCanBeWrittenInEveryZone: as JSON, the form in which lists of
// instances are printed.
func TestTimeThatIsReadCanBeWrittenInEveryZone(t *testing.T) {
	for _, millis := range []int64{earliest, 0, latest} {
		i, err := decodeInstance(fmt.Appendf(nil, `{"name":"a","id":"b","registrationTimeUTC":%d}`, millis))
		require.NoError(t, err)
		for _, hours := range []int{0, 14} {
			_, err := i.RegistrationTime.In(time.FixedZone("east", hours*3600)).MarshalJSON()
			require.NoError(t, err)
		}
	}
	for _, millis := range []int64{earliest - 1, latest + 1} {
		_, err := decodeInstance(fmt.Appendf(nil, `{"name":"a","id":"b","registrationTimeUTC":%d}`, millis))
		require.ErrorIs(t, err, ErrMalformed)
		i := Instance{Service: "a", ID: "b", RegistrationTime: time.UnixMilli(millis)}
		require.ErrorIs(t, i.check(), ErrInvalidArgument)
	}
}

// drawInstance draws an instance that can be registered.
func drawInstance(t *rapid.T) Instance {
	name := rapid.StringMatching(`[a-zA-Z0-9ü<& "\\-]{1,12}`)
	i := Instance{
		Service: name.Draw(t, "service"), ID: name.Draw(t, "id"),
		Address: rapid.StringOf(rapid.Rune()).Draw(t, "address"),
		Port:    rapid.IntRange(0, 65535).Draw(t, "port"), SSLPort: rapid.IntRange(0, 65535).Draw(t, "sslPort"),
		RegistrationTime: time.UnixMilli(rapid.Int64Range(earliest, latest).Draw(t, "time")),
		Type:             Type(rapid.IntRange(0, 3).Draw(t, "type")), Disabled: rapid.Bool().Draw(t, "disabled"),
	}
	i.Payload = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`1`), json.RawMessage(`{"a":[true,"<"]}`)}).Draw(t, "payload")
	i.URISpec = rapid.SampledFrom([]string{"", "{scheme}://{address}", "x{[}y{]}", "plain", "{own}"}).Draw(t, "uri")
	return i
}

func TestWrittenRecordIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawInstance(t)
		if err := want.check(); err != nil {
			t.Fatal(err)
		}
		data, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeInstance(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v\n%+v\n%+v", data, err, want, got)
		}
		later := want
		later.RegistrationTime = later.RegistrationTime.Add(time.Hour)
		if !later.saysTheSame(data) {
			t.Fatal("only the time differs")
		}
		later.Port ^= 1
		if later.saysTheSame(data) {
			t.Fatal("the port differs")
		}
	})
}

// FuzzDecode: any data of a znode is an instance or an error; and an instance that
// could be registered is read back as it was written.
func FuzzDecode(f *testing.F) {
	raw, err := os.ReadFile("testdata/java.txt")
	require.NoError(f, err)
	for line := range strings.Lines(string(raw)) {
		f.Add([]byte(line[4:]))
	}
	for _, s := range []string{"", "{}", "null", `{"name":"a","id":"b","payload":}`, `{"name":"a","id":"b","uriSpec":{"parts":[{"value":"{","variable":false},{"value":"","variable":true}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		i, err := decodeInstance(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		if i.check() != nil {
			return // read, but not to be written: a port of -1, a name with a slash
		}
		written, err := i.encode()
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, err := decodeInstance(written)
		if err != nil || !i.saysTheSame(written) || again.ID != i.ID {
			t.Fatalf("%q\n%q: %v", data, written, err)
		}
	})
}
