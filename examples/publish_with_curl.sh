#!/bin/sh
# Publish every line of standard input as a message, safely: what cannot be sent now is sent again, nothing is stored
# twice, and the first line that the hub refuses ends it.
#
# With a hub running (`make run`):
#
#     printf 'Pepe Gómez\nAna Pérez\n' | examples/publish_with_curl.sh fallecidos DGREC
#
# With a key in PREGON_KEY it is presented, and the producer need not be named. The id of each message is the SHA-256 of
# its line, so running this again with the same lines stores nothing.

set -eu
topic=${1:-fallecidos}
producer=${2:-}
hub=${PREGON_HTTP:-http://127.0.0.1:5580}

while IFS= read -r line; do
    id=$(printf '%s' "$line" | sha256sum | cut -c 1-64)
    # The headers go by a file descriptor: as arguments of curl everybody on the machine would see the key. Without
    # --fail only lost connections and "not now" (429, 503) are tried again, not what must be changed (4xx).
    answer=$(printf '%s' "$line" | curl --silent --show-error --write-out '\n%{http_code}' \
        --retry 30 --retry-delay 1 --retry-all-errors \
        -H @/dev/fd/3 --data-binary @- "$hub/v1/topics/$topic/messages" 3<<EOF
Content-Type: text/plain; charset=utf-8
Idempotency-Key: $id
${producer:+Pregon-Producer: $producer}
${PREGON_KEY:+Authorization: Bearer $PREGON_KEY}
EOF
    )
    echo "$answer" | head -n 1
    case $answer in *20?) ;; *) exit 1 ;; esac
done
