package health

import (
	"encoding/json"
	"net/http"
)

// Handler answers GET and HEAD with 200 if all checks succeed, and with 503 otherwise. The
// body is JSON: "healthy" is true or false, and "checks" has "ok" or the error of each check
// by its name.
func Handler(checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		answer := struct {
			Healthy bool              `json:"healthy"`
			Checks  map[string]string `json:"checks"`
		}{true, map[string]string{}}
		for _, c := range checks {
			text := "ok"
			if err := c.Err(); err != nil {
				answer.Healthy, text = false, err.Error()
			}
			answer.Checks[c.Name] = text
		}
		body, err := json.Marshal(answer)
		if err != nil { // never: strings can be encoded
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !answer.Healthy {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(append(body, '\n')) // the client may have gone
	})
}
