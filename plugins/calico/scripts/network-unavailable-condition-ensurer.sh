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
calico-node -startup
while true; do
  pause 3600
done
