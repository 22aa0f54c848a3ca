package dispatch

import "fmt"

// wrapHandler wraps a handler with middleware; the first element is the outermost.
func wrapHandler(handler Handler, middleware []func(next Handler) Handler) (Handler, error) {
	for i := len(middleware) - 1; i >= 0; i-- {
		if middleware[i] == nil {
			return nil, fmt.Errorf("%w: Middleware[%d] is nil", ErrInvalidArgument, i)
		}
		if handler = middleware[i](handler); handler == nil {
			return nil, fmt.Errorf("%w: Middleware[%d] has returned nil; it must return a handler", ErrInvalidArgument, i)
		}
	}
	return handler, nil
}
