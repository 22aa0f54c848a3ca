package kubelock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// recordSuffix makes, of the path of the election, that of the znode with the record. No
// other library writes it.
const recordSuffix = ".record"

// holderField is the field of client-go's record with the identity of the holder, which is
// empty after a release.
const holderField = "holderIdentity"

// stored is the data of the record's znode.
type stored struct {
	token     int64  // of the leadership that has written it
	candidate string // the path of its candidate
	record    []byte // client-go's, as JSON
}

func (r stored) encode() []byte {
	return fmt.Appendf(nil, "%d %s\n%s", r.token, r.candidate, r.record)
}

// decodeStored reads the data of the record's znode. ok is false if no Lock has written it.
func decodeStored(data []byte) (r stored, ok bool) {
	first, record, found := bytes.Cut(data, []byte{'\n'})
	number, candidate, two := strings.Cut(string(first), " ")
	token, err := strconv.ParseInt(number, 10, 64)
	if !found || !two || err != nil || session.ValidatePath(candidate) != nil {
		return stored{}, false
	}
	return stored{token, candidate, record}, true
}

// holderOf returns the identity of the holder in a record.
func holderOf(record []byte) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(record, &fields); err != nil {
		return "", err
	}
	var holder string
	if fields[holderField] == nil {
		return "", nil
	}
	err := json.Unmarshal(fields[holderField], &holder)
	return holder, err
}

// released returns the record without a holder; nil if it is no JSON object.
func released(record []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(record, &fields) != nil || fields == nil {
		return nil
	}
	fields[holderField] = json.RawMessage(`""`)
	out, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return out
}
