# Removes everything that a cluster left on the machine. It waits until the
# test process closes the pipe, which the kernel does when that process dies.
# GUARD_ID and GUARD_DIR name the cluster. Containers are removed by zktest-docker,
# which starts them.
trap '' INT TERM HUP
cat >/dev/null

# The servers carry the folder's name in their command line. The name reaches
# grep through its input, or grep would find itself.
servers() {
	printf '%s\n' "-Dzktest.dir=$GUARD_DIR/" |
		grep -alsF -f - /proc/[0-9]*/cmdline | cut -d/ -f3
}
for pid in $(servers); do kill -9 "$pid" 2>/dev/null; done

if command -v ip >/dev/null; then
	ip link show "zt$GUARD_ID" >/dev/null 2>&1 && ip link del "zt$GUARD_ID"
	for ns in $(ip netns list 2>/dev/null | cut -d' ' -f1 | grep "^zktest-$GUARD_ID-"); do
		ip netns del "$ns"
	done
fi

# A server that was just killed may still write: try until the folder is gone.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$GUARD_DIR" 2>/dev/null && exit 0
	sleep 0.2
done
echo "cannot remove $GUARD_DIR" >&2
exit 1
