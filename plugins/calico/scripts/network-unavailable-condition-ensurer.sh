# Sets the Node's condition NetworkUnavailable to False once, some time after the
# former pod has ended: its last act was to set it to True, and that may have come
# after what the new pod said.
set -eu
trap 'exit 0' TERM

# A shell only heeds signals at once while it waits for a child.
pause() {
  sleep "$1" &
  wait $!
}

pause 30
if [ "$CALICO_NETWORKING_BACKEND" != none ]; then
  calico-node -startup -complete-startup
elif [ -e "${SHUTDOWN_FILE:-/var/lib/calico/shutdownTS}" ]; then
  # A former pod has ended on this node, and may have had another backend. With
  # backend none calico-node leaves the condition alone, so it is told of another one:
  # it sets the condition as soon as Felix is ready, removes the file, and stays.
  CALICO_NETWORKING_BACKEND=bird FELIX_HEALTHENABLED=true calico-node -complete-startup &
  wait $!
fi
while true; do
  pause 3600
done
