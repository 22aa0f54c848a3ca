package holding

import (
	"context"
	"fmt"
)

// BeginHeld is [Begin] for the methods of a hold. made is false for a zero value of
// typ, which only source hands out.
func BeginHeld(ctx context.Context, made bool, typ, source string, invalid error) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", invalid)
	case !made:
		return fmt.Errorf("%w: %s", invalid, zeroValueText(typ, source))
	}
	return nil
}

// MustBeMade is for the methods that return no error: it panics with a text that names
// source if made is false. A token of 0, or a guard that checks nothing, would let
// writes through that nothing protects.
func MustBeMade(made bool, typ, source string) {
	if !made {
		panic(zeroValueText(typ, source))
	}
}

func zeroValueText(typ, source string) string {
	return fmt.Sprintf("a nil or zero %s is not held: get one from %s", typ, source)
}
