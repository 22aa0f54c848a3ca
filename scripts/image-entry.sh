#!/bin/sh
# Entry of the local image: writes zoo.cfg from the variables that the official
# image reads, and becomes the server.
set -euf # no patterns: a setting may hold a star

cfg=/conf/zoo.cfg
mkdir -p /conf /data
{
	echo "dataDir=/data"
	echo "tickTime=${ZOO_TICK_TIME:-2000}"
	echo "initLimit=${ZOO_INIT_LIMIT:-5}"
	echo "syncLimit=${ZOO_SYNC_LIMIT:-2}"
	echo "maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}"
	echo "standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}"
	echo "admin.enableServer=${ZOO_ADMINSERVER_ENABLED:-false}"
	[ -z "${ZOO_4LW_COMMANDS_WHITELIST:-}" ] || echo "4lw.commands.whitelist=$ZOO_4LW_COMMANDS_WHITELIST"
	for line in ${ZOO_CFG_EXTRA:-}; do echo "$line"; done
	# Each entry is server.N=host:peer:election;client. Entries without the
	# client's part, and no entries at all, leave the port to clientPort.
	case ${ZOO_SERVERS:-} in
	*\;*) ;;
	*) echo "clientPort=2181" ;;
	esac
	for line in ${ZOO_SERVERS:-}; do echo "$line"; done
} >"$cfg"
[ -f /data/myid ] || echo "${ZOO_MY_ID:-1}" >/data/myid

# shellcheck disable=SC2086
exec java ${JVMFLAGS:-} ${SERVER_JVMFLAGS:-} \
	-Dorg.slf4j.simpleLogger.showDateTime=true \
	-cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
	org.apache.zookeeper.server.quorum.QuorumPeerMain "$cfg"
