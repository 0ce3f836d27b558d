# Deletes the chains for which is_chain is true, with their rules, and from other chains the rules for
# which is_rule is true: of each kind of iptables that the image has, each table in one transaction.
# What others write meanwhile stays.
# shellcheck shell=sh
newline='
'
clean() {
  commands=''
  while read -r line; do
    case $line in
    '*'*) table=$line flushed='' deleted='' removed='' ;;
    :*)
      chain=${line#:} chain=${chain%% *}
      if is_chain "$chain"; then
        flushed="$flushed:$chain - [0:0]$newline" removed="$removed-X $chain$newline"
      fi
      ;;
    -A*)
      rule=${line#-A } chain=${rule%% *}
      if ! is_chain "$chain" && is_rule "$rule"; then deleted="$deleted-D $rule$newline"; fi
      ;;
    COMMIT)
      if [ -n "$flushed$deleted" ]; then
        commands="$commands$table$newline$flushed$deleted${removed}COMMIT$newline"
      fi
      ;;
    esac
  done <<SAVED
$("$1-save" 2>/dev/null)
SAVED
  if [ -n "$commands" ]; then printf '%s' "$commands" | "$1-restore" -w --noflush; fi
}
for program in iptables ip6tables iptables-legacy ip6tables-legacy iptables-nft ip6tables-nft; do
  if command -v "$program-save" >/dev/null; then clean "$program"; fi
done
