package ui

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// maxLimit is how many elements of each list the API returns if a limit is asked for.
const maxLimit = 10_000

// cursor is the end of a part of the lists: the last returned elements.
// Elements added or removed later do not move other elements to another part.
type cursor struct {
	Denied  string         `json:"d,omitempty"`
	Thing   string         `json:"t,omitempty"`
	Kind    recognize.Kind `json:"k,omitempty"`
	Session int64          `json:"s,string,omitempty"`
	// Begun: a part was returned.
	Begun bool `json:"b"`
}

// partOf parses the requested part of the lists; limit is 0 for all.
func partOf(form url.Values) (limit int, after cursor, err error) {
	if text := form.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return 0, cursor{}, fmt.Errorf("parameter limit: must be a number from 1 to %d", maxLimit)
		}
	}
	text := form.Get("after")
	if text == "" {
		return limit, cursor{}, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &after) != nil || !after.Begun {
		return 0, cursor{}, errors.New("parameter after: must be the field next of an answer")
	}
	return limit, after, nil
}

// encode returns the cursor in the form passed to clients.
func (c cursor) encode() string {
	c.Begun = true
	raw, _ := json.Marshal(c) // texts and a number
	return base64.RawURLEncoding.EncodeToString(raw)
}

// cutLists keeps a part of each list.
func (d *document) cutLists(limit int, after cursor) {
	next := after
	d.Denied = d.Denied[skipReturned(d.Denied, after.Denied != "", func(path string) int { return strings.Compare(path, after.Denied) }):]
	more := cutTo(&d.Denied, limit)
	if n := len(d.Denied); n > 0 {
		next.Denied = d.Denied[n-1]
	}
	d.Things = d.Things[skipReturned(d.Things, after.Thing != "", func(t *recognize.Thing) int {
		return cmp.Or(strings.Compare(t.Path, after.Thing), cmp.Compare(t.Kind, after.Kind))
	}):]
	more = cutTo(&d.Things, limit) || more
	if n := len(d.Things); n > 0 {
		next.Thing, next.Kind = d.Things[n-1].Path, d.Things[n-1].Kind
	}
	d.Sessions = d.Sessions[skipReturned(d.Sessions, after.Session != 0, func(s *recognize.Session) int {
		return cmp.Compare(int64(s.ID), after.Session)
	}):]
	more = cutTo(&d.Sessions, limit) || more
	if n := len(d.Sessions); n > 0 {
		next.Session = int64(d.Sessions[n-1].ID)
	}
	if more {
		d.Next = next.encode()
	}
	d.Denied, d.Things, d.Sessions = nonNil(d.Denied), nonNil(d.Things), nonNil(d.Sessions)
}

// skipReturned returns the rest of a sorted list after the last returned element; the whole
// list if no element was returned yet.
func skipReturned[T any](list []T, begun bool, compare func(T) int) int {
	if !begun {
		return 0
	}
	i, found := slices.BinarySearchFunc(list, 0, func(e T, _ int) int { return compare(e) })
	if found {
		i++
	}
	return i
}

// cutTo cuts a list to n elements, and reports whether there are more.
func cutTo[T any](list *[]T, limit int) bool {
	if limit == 0 || len(*list) <= limit {
		return false
	}
	*list = (*list)[:limit]
	return true
}
