// Package versioned reads and writes the JSON records of znodes that several versions
// of this library share.
//
// A newer version may add a field to a record without asking: an older version keeps
// the field when it rewrites the record. A newer version that changes the meaning of a
// field writes another format number, which an older version refuses to read and never
// replaces. A record without a format number has format 1.
package versioned

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// formatField is the name of the field that has the format number.
const formatField = "format"

// ErrNotRecord: the data is not a JSON object.
var ErrNotRecord = errors.New("not a JSON object")

// FormatError says that a record has a format that this version does not know.
type FormatError struct {
	// Found is the format as the record has it, cut off after 20 bytes. Supported is
	// the newest format that this version knows.
	Found     string
	Supported int
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("the record has format %s, this version supports formats up to %d: update this program to the version that wrote the record",
		e.Found, e.Supported)
}

// maxFound is how much of a format is shown.
const maxFound = 20

// Check checks the format of a record before anything else of the record is read:
// [ErrNotRecord], or a [*FormatError].
func Check(data []byte, supported int) error {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte{'{'}) {
		return ErrNotRecord
	}
	var r struct {
		Format json.RawMessage `json:"format"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return ErrNotRecord
	}
	format := 1
	if r.Format != nil && json.Unmarshal(r.Format, &format) != nil || format < 1 || format > supported {
		return &FormatError{Found: string(r.Format[:min(len(r.Format), maxFound)]), Supported: supported}
	}
	return nil
}

// Kept are the fields of a record that this version does not know. A record that is
// rewritten embeds Kept; a record that replaces another gets the Kept of the replaced
// record.
type Kept struct {
	fields map[string]json.RawMessage // never changed
}

// Empty reports whether there is no unknown field.
func (k *Kept) Empty() bool { return len(k.fields) == 0 }

func (k *Kept) kept() *Kept { return k }

// keeper is a pointer to a record that embeds Kept.
type keeper interface{ kept() *Kept }

// Unmarshal reads data into record, a pointer to a struct without methods for JSON. A
// record that embeds [Kept] gets the fields that it does not know, and loses all that it
// had.
func Unmarshal(data []byte, record any) error {
	k, keeps := record.(keeper)
	if !keeps {
		return json.Unmarshal(data, record)
	}
	reflect.ValueOf(record).Elem().SetZero()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(record); err == nil {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil // no unknown fields: the usual case
		}
	}
	reflect.ValueOf(record).Elem().SetZero()
	if err := json.Unmarshal(data, record); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	known := append(fieldNames(record), formatField)
	maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
	})
	if len(fields) > 0 {
		k.kept().fields = fields
	}
	return nil
}

// Marshal writes record, a pointer to a struct without methods for JSON, and behind its
// fields a format number, unless format is 0, since the record has a field for that;
// then the fields that the record keeps.
func Marshal(record any, format int) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	if format != 0 {
		data = extend(data, fmt.Appendf(nil, "{%q:%d}", formatField, format))
	}
	if k, keeps := record.(keeper); keeps && len(k.kept().fields) > 0 {
		more, err := json.Marshal(k.kept().fields)
		if err != nil {
			return nil, err
		}
		data = extend(data, more)
	}
	return data, nil
}

// extend adds the fields of one JSON object to another.
func extend(data, more []byte) []byte {
	data = data[:len(data)-1] // without the brace
	if len(data) > 1 {
		data = append(data, ',')
	}
	return append(data, more[1:]...)
}

// fieldNames are the names of the fields of a record, in JSON.
func fieldNames(record any) (out []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(record).Elem()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}
