// Package usererror is for errors that functions of callers return. The methods of such an
// error can panic, as those of a nil pointer of its type do. The package is pure, and imports
// nothing of this module.
package usererror

import (
	"errors"
	"fmt"
)

// errProbe is an error that no error wraps.
var errProbe = errors.New("no error wraps this")

// Usable returns err, or an error that describes err, if one of its methods, or of the errors
// that it wraps, panics. Call it where a panic of the function is recovered, because a method
// can also end the goroutine.
func Usable(err error) (usable error) {
	if err == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			usable = fmt.Errorf("an error of the type %T was returned, and its methods panic: %v", err, p)
		}
	}()
	_ = errors.Is(err, errProbe)
	_ = err.Error()
	return err
}
