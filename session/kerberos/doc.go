// Package kerberos authenticates the sessions of package session with Kerberos, as the
// ensembles of Hadoop require it: the mechanism GSSAPI of SASL, for session.Options.SASL.
//
// # What it is
//
//	login, err := kerberos.Keytab("app/host.example.org@EXAMPLE.ORG", "/etc/security/app.keytab", nil)
//	...
//	client, err := session.Connect(ctx, "zk1.example.org,zk2.example.org", &session.Options{
//		SASL: login.SASL,
//		ACL:  session.CreatorACL(),
//	})
//
// [Keytab] logs in with a key in a keytab file, [CredentialCache] with the ticket of kinit. No
// C library and no program of Kerberos is needed. The package is a module of its own, so that
// no other user of the library depends on gokrb5.
//
// # Guarantees
//
// The server proves that it has the key of its principal (mutual authentication), and the
// client sends no request to a server that does not. Java's client does not ask for this
// proof. Nothing is encrypted afterwards: use TLS for that.
//
// Each connection gets a new ticket for its server. The ticket-granting ticket is replaced
// when a sixth of its time is left, or when the KDC does not accept it any more. The keytab,
// the credential cache and krb5.conf are read again each time: a new file takes effect at the
// next connection, without a restart. Replace a file by renaming the new one.
//
// # How it is lost, and how you find out
//
// A session that is connected does not end when its tickets expire. A connection that breaks
// needs a ticket for the next one; if no KDC answers, the last ticket for that server is used
// until it expires. A session for which no ticket can be had for a session timeout is lost as
// one that reaches no server: session.State and the errors of waits have the cause.
//
// # Znodes
//
// This package has no znodes. The identity of the client in ACLs has the scheme "sasl", and
// the id is the principal: sasl:app/host.example.org@EXAMPLE.ORG:cdrwa. Servers shorten the id
// to "app" with kerberos.removeHostFromPrincipal and kerberos.removeRealmFromPrincipal.
//
// # Failures
//
// An invalid argument, a missing or unreadable file, and a keytab without a key of the
// principal are errors of [Keytab] and [CredentialCache]. Everything else, also what the KDC
// refuses, fails an attempt to connect, and session.Connect tries again until its context
// ends: the KDC may be away, a principal may be created, a keytab may be replaced while the
// program runs. The error then has the cause. [Login.Verify] asks the KDC once, for programs
// that should end at once when their key is wrong.
//
//   - [ErrConfig]: krb5.conf is missing or lacks a KDC.
//   - [ErrCredentials]: the key is wrong, the principal is unknown or locked, the ticket has
//     expired.
//   - [ErrServerUnknown]: the KDC has no principal for the name of the server. The error names
//     the principal; see [Options].
//   - [ErrClockSkew]: the clocks differ by more than clockskew of krb5.conf, 5 minutes by
//     default. The error names the difference.
//   - [ErrKDCUnreachable]: no KDC answered.
//   - [ErrServerUntrusted]: the server has not proved its key, or has no GSSAPI.
//   - session.ErrAuthFailed: the server refuses the ticket, and the session is lost. Its log
//     says why: its keytab lacks the present key, its clock differs, or its rules
//     (auth_to_local) have no name for the principal. After a change of the servers' key,
//     restart them with the new keytab, which should keep the former key.
//
// No call takes longer than its context, whatever a KDC does: a third of the session timeout
// for a connection. The KDCs of a realm share that time.
//
// # Compatibility
//
// Apache ZooKeeper with com.sun.security.auth.module.Krb5LoginModule; tested with version
// 3.8.0 and the KDC of MIT Kerberos. The principal of a server is that of Java's client:
// zookeeper/HOST, where HOST is the canonical name of the server's address. With several
// addresses behind one name, that is the name of any of them: list the servers one by one, or
// set [Options.ServerPrincipal].
//
// Of krb5.conf, the sections libdefaults, realms and domain_realm count, with include and
// includedir; realms without KDCs are looked up in the DNS. Requests go by TCP, and by UDP if
// a KDC has no TCP. Encryption types are those of AES; the ones with SHA-2 must be named in
// default_tkt_enctypes and default_tgs_enctypes. A server may be in a realm that the client's
// realm trusts directly. There are no passwords, no PKINIT, and no
// credential caches other than files (KEYRING, KCM).
//
// # Concurrency
//
// A [Login] may be used by any number of clients and goroutines. It starts no goroutine, and
// needs no Close.
package kerberos
