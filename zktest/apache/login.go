package apache

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// loginName is the file of the login configuration.
const loginName = "login.conf"

// loginConfig is the configuration of Java's authentication with the users of SASL.
func loginConfig(users map[string]string) []byte {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	b.WriteString("Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required")
	for _, user := range slices.Sorted(maps.Keys(users)) {
		fmt.Fprintf(&b, "\n  user_%s=\"%s\"", user, quote.Replace(users[user]))
	}
	b.WriteString(";\n};\n")
	return []byte(b.String())
}
