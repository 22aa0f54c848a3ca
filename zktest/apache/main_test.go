package apache

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// envRole gives this test binary another role: tests start the binary again if
// they need a second process.
const envRole = "APACHE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "":
		goleak.VerifyTestMain(m)
	case "prober":
		runProber()
	case "victim":
		runVictim()
	}
}

// runProber sends and receives datagrams in the network namespace of its process.
// Input lines are "<from> <to> <text>". The prober confirms each sent datagram,
// and prints each received text with the sender's address.
func runProber() {
	for _, host := range strings.Split(os.Getenv("PROBER_HOSTS"), ",") {
		conn, err := net.ListenPacket("udp", host+":7777")
		if err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println("ready", host)
		// The test waits for the process, which ends this goroutine.
		go func() {
			buf := make([]byte, 1500)
			for {
				n, from, err := conn.ReadFrom(buf)
				if err != nil {
					return
				}
				fmt.Println(from.(*net.UDPAddr).IP, host, string(buf[:n]))
			}
		}()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(f[0])}}
		conn, err := d.Dial("udp", f[1]+":7777")
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		_, _ = fmt.Fprint(conn, f[2]) // a firewall may refuse the datagram: then it does not arrive
		fmt.Println("sent", f[2])
		_ = conn.Close()
	}
}

// runVictim starts a cluster, says where, and waits to be killed.
func runVictim() {
	o := &Options{Mode: Mode(os.Getenv("VICTIM_MODE")), Cuts: os.Geteuid() == 0}
	c, err := Start(context.Background(), o)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("dir", c.dir)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	panic("the victim was not killed")
}
