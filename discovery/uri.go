package discovery

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/memberformat"
)

// BuildURI fills in the instance's URISpec. The variables are Curator's: scheme
// ("https" if SSLPort is set, else "http"), name, id, address, port, ssl-port,
// registration-time-utc, service-type, and "[" and "]" for braces. The variables
// in more are added, and take precedence; more may be nil. An unknown variable is
// an error; Curator leaves it out.
func (i Instance) BuildURI(more map[string]string) (string, error) {
	parts, err := parseURI(i.URISpec)
	if err != nil {
		return "", fmt.Errorf("discovery: uri of %s/%s: %w", i.Service, i.ID, err)
	}
	var b strings.Builder
	for _, p := range parts {
		if !p.Variable {
			b.WriteString(p.Value)
			continue
		}
		value, ok := more[p.Value]
		if !ok {
			value, ok = i.variable(p.Value)
		}
		if !ok {
			return "", fmt.Errorf("discovery: uri of %s/%s: %w: no variable %q", i.Service, i.ID, ErrInvalidArgument, p.Value)
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// variable is the value of one of Curator's variables.
func (i Instance) variable(name string) (string, bool) {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	switch name {
	case varScheme:
		if i.SSLPort != 0 {
			return "https", true
		}
		return "http", true
	case varName:
		return i.Service, true
	case varID:
		return i.ID, true
	case varAddress:
		return i.Address, true
	case varPort:
		return number(i.Port), true
	case varSSLPort:
		return number(i.SSLPort), true
	case varTime:
		return strconv.FormatInt(i.RegistrationTime.UnixMilli(), 10), true
	case varType:
		return strings.ToLower(i.Type.String()), true
	case varOpenBrace:
		return "{", true
	case varCloseBrace:
		return "}", true
	}
	return "", false
}

// parseURI takes a template apart; nil for an empty one.
func parseURI(spec string) ([]memberformat.URIPart, error) {
	var parts []memberformat.URIPart
	for rest := spec; rest != ""; {
		text, after, braced := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return nil, fmt.Errorf("%w: %q has a } without {", ErrInvalidArgument, spec)
		}
		if text != "" {
			parts = append(parts, memberformat.URIPart{Value: text})
		}
		if !braced {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if name = strings.TrimSpace(name); !closed || name == "" || strings.Contains(name, "{") {
			return nil, fmt.Errorf("%w: %q has a { that begins no variable", ErrInvalidArgument, spec)
		}
		parts = append(parts, memberformat.URIPart{Value: name, Variable: true})
		rest = next
	}
	return parts, nil
}

// formatURI is the opposite of parseURI. Braces in text become variables, which
// build the same.
func formatURI(parts []memberformat.URIPart) (string, error) {
	escape := strings.NewReplacer("{", "{"+varOpenBrace+"}", "}", "{"+varCloseBrace+"}")
	var b strings.Builder
	for _, p := range parts {
		switch {
		case !p.Variable:
			b.WriteString(escape.Replace(p.Value))
		case p.Value == "" || strings.TrimSpace(p.Value) != p.Value || strings.ContainsAny(p.Value, "{}"):
			return "", fmt.Errorf("%w: uriSpec: a variable cannot be called %.40q", ErrMalformed, p.Value)
		default:
			b.WriteString("{" + p.Value + "}")
		}
	}
	return b.String(), nil
}
