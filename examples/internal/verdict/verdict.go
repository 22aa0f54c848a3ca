// Package verdict is the result of an example's judge, which compares the outcome of the
// example with the rules that must hold.
package verdict

import (
	"errors"
	"fmt"
	"strings"
)

// ErrWrong is the error of a verdict with charges.
var ErrWrong = errors.New("the outcome is wrong")

// maxShown is how many charges Report shows.
const maxShown = 20

// Verdict collects charges. The zero value has none.
type Verdict struct{ charges []string }

// Charge adds a charge.
func (v *Verdict) Charge(format string, args ...any) {
	v.charges = append(v.charges, fmt.Sprintf(format, args...))
}

// Charges returns the charges.
func (v *Verdict) Charges() []string { return v.charges }

// Err returns ErrWrong if there is a charge.
func (v *Verdict) Err() error {
	if len(v.charges) == 0 {
		return nil
	}
	return ErrWrong
}

// Report returns the verdict as text, below a summary of the judged run: right if there are
// no charges, or the first charges.
func (v *Verdict) Report(summary, right string) string {
	if len(v.charges) == 0 {
		return summary + "\nRIGHT: " + right
	}
	shown := v.charges[:min(len(v.charges), maxShown)]
	return fmt.Sprintf("%s\nWRONG, %d times:\n  %s", summary, len(v.charges), strings.Join(shown, "\n  "))
}
