// Package webconfig has the flag --web-config of the commands that serve HTTP: a
// file in the format of the Prometheus exporter toolkit, with certificates for TLS,
// and users with passwords.
//
// The toolkit reads the certificates. Basic authentication is this package's own,
// since a server that takes orders, or shows a whole tree, needs more than the
// toolkit's handler promises:
//
//   - An attempt with a wrong password takes as long as an attempt with an unknown
//     user, whatever the costs of the users' hashes are. The toolkit compares unknown
//     users with a hash of a fixed cost.
//   - If the file loses its users while the server runs, requests are refused. With
//     the toolkit, a file that an editor has just truncated lets everyone in.
//   - Handlers learn the user's name, and streams end when the user is removed from
//     the file.
//
// The file is read again for each request and each connection, so users and
// certificates are replaced without a restart.
package webconfig
