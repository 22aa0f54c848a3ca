// Package receiver has the checks that methods make of their receiver.
package receiver

// OrZero returns p, or a new zero value for a nil pointer: the checks of a method for
// zero values then report a nil receiver too, by the name of the constructor, instead of
// a nil dereference.
func OrZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}
