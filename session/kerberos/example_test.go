package kerberos_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/session/kerberos"
)

// A service that holds a lock in an ensemble of Hadoop. It ends at once if its key is wrong,
// and waits for a KDC that is away.
func ExampleKeytab() {
	ctx := context.Background()
	login, err := kerberos.Keytab("report/app1.example.org@EXAMPLE.ORG", "/etc/security/keytabs/report.keytab", nil)
	if err != nil {
		log.Fatal(err) // the keytab or krb5.conf is missing
	}
	verifying, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := login.Verify(verifying); err != nil && !errors.Is(err, kerberos.ErrKDCUnreachable) {
		log.Fatal(err) // the key is wrong, the principal is unknown, ...
	}
	client, err := session.Connect(ctx, "zk1.example.org,zk2.example.org,zk3.example.org", &session.Options{
		SASL: login.SASL,
		ACL:  session.CreatorACL(), // sasl:report/app1.example.org@EXAMPLE.ORG:cdrwa
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	err = lock.New(client, "/locks/report", nil).Do(ctx, func(ctx context.Context, held *lock.Held) error {
		fmt.Println("write the report with the token", held.Token())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A tool that acts as the user who runs it, with the ticket of kinit.
func ExampleCredentialCache() {
	login, err := kerberos.CredentialCache("", &kerberos.Options{ServerPrincipal: "zookeeper/_HOST@EXAMPLE.ORG"})
	if err != nil {
		log.Fatal(err) // there is no ticket: run kinit
	}
	client, err := session.Connect(context.Background(), "zk1.example.org", &session.Options{SASL: login.SASL})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())
}
