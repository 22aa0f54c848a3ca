package keeping

import "strings"

// countPrefix begins the name of the sequential znode by which a transaction counts the
// creations in a directory. The same transaction deletes the znode.
const countPrefix = "_count-"

// sequentialOf reports whether name is that of a sequential znode of this
// id: "<id><number>", with nothing between. The number has ten characters, or a minus and
// ten digits.
func sequentialOf(name, id string) bool {
	number, ok := strings.CutPrefix(name, id)
	if digits, negative := strings.CutPrefix(number, "-"); negative && len(digits) == 10 {
		number = digits
	} else if negative {
		number = "0" + digits
	}
	return ok && len(number) == 10 && strings.Trim(number, "0123456789") == ""
}
