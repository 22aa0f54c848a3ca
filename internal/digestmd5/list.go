package digestmd5

import (
	"fmt"
	"strings"
)

// list is a token: name=value, with commas between; values may be quoted.
type list []byte

func (l *list) add(name, value string) {
	if len(*l) > 0 {
		*l = append(*l, ',')
	}
	*l = append(append(append(*l, name...), '='), value...)
}

func (l *list) addQuoted(name, value string) {
	l.add(name, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
}

// parse reads a token. The first value of a name counts.
func parse(token []byte) (map[string]string, error) {
	out := map[string]string{}
	rest := string(token)
	for {
		rest = strings.TrimLeft(rest, " \t\r\n,")
		if rest == "" {
			return out, nil
		}
		name, after, ok := strings.Cut(rest, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("digest-md5: a part of the token has no name: %q", rest)
		}
		value, remains, err := parseValue(after)
		if err != nil {
			return nil, err
		}
		name = strings.ToLower(strings.TrimRight(name, " \t"))
		if _, twice := out[name]; !twice {
			out[name] = value
		}
		rest = remains
	}
}

// parseValue reads a value at the begin of s, up to the next comma.
func parseValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return strings.TrimRight(value, " \t"), rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		case '"':
			return b.String(), s[i+1:], nil
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("digest-md5: a quote in the token does not end: %q", s)
}

// hasWord reports whether a list of words, with commas between, has word.
func hasWord(words, word string) bool {
	for w := range strings.SplitSeq(words, ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}
